"""Times of a model in many plans: on one device and over several, beside the unchanged model."""

import pytest
import torch

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import DEFAULT_SYSTEM, QWEN, with_template
from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.records import whole_record
from workflow_scripts.evaluation import plan_latency
from workflow_scripts.evaluation.plan_latency import measure_latency
from workflow_scripts.evaluation.prompts.questions import read_questions
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.plan_measures import LatencyMeasures


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def watch(monkeypatch):
    """Have a function look at each model that is timed."""

    def begin(look):
        run = plan_latency.greedy_latency
        monkeypatch.setattr(plan_latency, "greedy_latency", lambda *a: look(a[0]) or run(*a))

    return begin


def sequential(**keys):
    return Checkpoint(model=CHUNKABLE, mode="sequential", num_layers_per_chunk=1, **keys)


ALONE = sequential(aggregation_mode="residual", use_adapters=False)
PRUNED = Checkpoint(model=CHUNKABLE, mode="prune", layers_to_prune=(1,))


def measured(world, chunkable, folder, *plans, **measures):
    asked = LatencyRequest(
        plans=plans,
        measures=LatencyMeasures(
            **{"batch_sizes": (1, 2), "questions": 2, "new_tokens": 2, "repeats": 3} | measures
        ),
        compute=Loading(device="cpu"),
        seed=0,
    )
    measure_latency(chunkable, world, folder / "mmlu.json", asked)
    return whole_record(folder / "mmlu.json")


def test_each_way_of_a_plan_takes_turns_with_the_unchanged_model(world, chunkable, tmp_path):
    record = measured(world, chunkable, tmp_path, ALONE, PRUNED)
    of = {
        (one.plan.split("-")[0][:5], one.way, one.batch)
        for one in (metric.condition for metric in record.metrics)
    }
    (chunked,) = {plan for plan, *_ in of if plan.startswith("k")}
    ways = {(chunked, way, size) for way in ("unchanged", "fused", "loop") for size in (1, 2)}
    # Of a pruned model one batch size says how much shorter it is.
    assert of == ways | {("prune", "unchanged", 1), ("prune", "loop", 1)}
    assert {metric.n for metric in record.metrics} == {3}
    # What was measured before there were adapters and devices keeps its names.
    assert all(m.condition.adapters is m.condition.devices is None for m in record.metrics)
    assert record.volatile.devices == ("cpu",)


def test_a_plan_is_spread_over_each_number_of_devices_that_it_has_chunks_for(
    world, chunkable, tmp_path, threads, watch
):
    threads(2)
    seen = set()

    def noted(model):
        devices = getattr(model.model.layers, "devices", None)
        seen.add((devices, devices and model.config.chunk_execution))

    watch(noted)
    record = measured(world, chunkable, tmp_path, ALONE, PRUNED, devices=(1, 2), batch_sizes=(1,))
    of = {(m.condition.way, m.condition.devices) for m in record.metrics if m.condition.aggregation}
    spread = {("fused", 2), ("loop", 2)}
    assert of == spread | {("unchanged", None), ("fused", None), ("loop", None), ("unchanged", 2)}
    assert {m.condition.devices for m in record.metrics if not m.condition.aggregation} == {None}
    assert seen == {(None, None), *((n, way) for n in (1, 2) for way in ("fused", "loop"))}
    assert record.volatile.devices == ("cpu, share 1 of 2", "cpu, share 2 of 2")
    assert record.protocol.generation["devices"] == [1, 2]


def test_chat_prompts_are_the_questions_alone_in_the_template(world, tmp_path, monkeypatch):
    tokenizer = with_template(QWEN)
    model = put_in_hub(tiny_model("qwen2", len(tokenizer)), tmp_path / "model", tokenizer)
    timed, run = [], plan_latency.greedy_latency
    monkeypatch.setattr(
        plan_latency,
        "greedy_latency",
        lambda model, batches, new: timed.append(batches) or run(model, batches, new),
    )
    pruned = {"questions": 3, "batch_sizes": (3,), "latency_prompts": "chat"}
    record = measured(world, model, tmp_path, PRUNED, **pruned)
    rows = [
        tokenizer(
            f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>user\n{question.text}"
            "<|im_end|>\n<|im_start|>assistant\n"
        )["input_ids"]
        for question in read_questions(world, "mmlu")[0][:3]
    ]
    for batches in timed:
        ((ids, mask),) = batches
        found = zip(ids.tolist(), mask.tolist(), strict=True)
        assert [row[row_mask.index(1) :] for row, row_mask in found] == rows
    assert record.protocol.chat_template
    assert record.protocol.generation["latency_prompts"] == "chat"
