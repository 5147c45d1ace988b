"""Times of a model in many plans: on one device and over several, beside the unchanged model."""

import pytest

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import DEFAULT_SYSTEM, QWEN, with_template
from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation import plan_latency
from workflow_scripts.evaluation.plan_latency import measure_latency
from workflow_scripts.evaluation.prompts.questions import read_questions
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.plan_measures import LatencyMeasures

CHUNKED = Checkpoint(
    model=CHUNKABLE,
    mode="sequential",
    num_layers_per_chunk=1,
    aggregation_mode="residual",
    use_adapters=False,
)
PRUNED = Checkpoint(model=CHUNKABLE, mode="prune", layers_to_prune=(1,))


@pytest.fixture
def timed(monkeypatch):
    """Collect whether the model was spread, its execution and the batches of each timing."""
    calls, run = [], plan_latency.time_greedy_generation

    def watch(model, batches, new_tokens):
        layer_run = getattr(model.model.layers, "run", None)
        execution = getattr(model.config, "chunk_execution", None)
        calls.append((layer_run and layer_run.is_spread, layer_run and execution, batches))
        return run(model, batches, new_tokens)

    monkeypatch.setattr(plan_latency, "time_greedy_generation", watch)
    return calls


def measured(world, chunkable, folder, *plans, **measures):
    request = LatencyRequest(
        plans=plans,
        measures=LatencyMeasures(
            **{"batch_sizes": (1, 2), "questions": 2, "new_tokens": 2, "repeats": 3} | measures
        ),
        compute=Loading(device="cpu"),
        seed=0,
    )
    measure_latency(chunkable, world, folder / "mmlu.json", request)
    return read_complete_record(folder / "mmlu.json")


def test_each_way_of_a_plan_takes_turns_with_the_unchanged_model(world, chunkable, tmp_path):
    record = measured(world, chunkable, tmp_path, CHUNKED, PRUNED)
    conditions = [metric.condition for metric in record.metrics]
    (plan,) = {c.plan for c in conditions if c.aggregation}
    ways = {(plan, way, size) for way in ("unchanged", "fused", "loop") for size in (1, 2)}
    # Of a pruned model one batch size says how much shorter it is.
    ways |= {("prune1", "unchanged", 1), ("prune1", "loop", 1)}
    assert {(c.plan, c.way, c.batch) for c in conditions} == ways
    assert {metric.n for metric in record.metrics} == {3}
    assert record.volatile.devices == ("cpu",)


def test_a_plan_is_spread_over_each_number_of_devices_that_it_has_chunks_for(
    world, chunkable, tmp_path, timed
):
    sizes = {"devices": (1, 2), "batch_sizes": (1,)}
    record = measured(world, chunkable, tmp_path, CHUNKED, PRUNED, **sizes)
    conditions = {m.condition for m in record.metrics}
    spread = {("fused", 2), ("loop", 2), ("unchanged", 2)}
    alone = {("unchanged", None), ("fused", None), ("loop", None)}
    assert {(c.way, c.devices) for c in conditions if c.aggregation} == spread | alone
    assert {c.devices for c in conditions if not c.aggregation} == {None}
    ways = {(is_spread, way) for is_spread in (False, True) for way in ("fused", "loop")}
    assert {call[:2] for call in timed} >= ways
    assert record.volatile.devices == ("cpu, share 1 of 2", "cpu, share 2 of 2")


def test_chat_prompts_are_the_questions_alone_in_the_template(world, tmp_path, timed):
    tokenizer = with_template(QWEN)
    model = put_in_hub(tiny_model("qwen2", len(tokenizer)), tmp_path / "model", tokenizer)
    measures = {"questions": 3, "batch_sizes": (3,), "latency_prompts": "chat"}
    record = measured(world, model, tmp_path, PRUNED, **measures)
    texts = [
        f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>user\n{question.text}"
        "<|im_end|>\n<|im_start|>assistant\n"
        for question in read_questions(world, "mmlu")[0][:3]
    ]
    for *_, batches in timed:
        ((ids, mask),) = batches
        rows = [row[kept.bool()].tolist() for row, kept in zip(ids, mask, strict=True)]
        assert rows == tokenizer(texts)["input_ids"]
    assert record.protocol.chat_template
