"""Plans are conditions of a record; of a checkpoint the plan is part of its id, and no condition."""

from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.items import read_items
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.measure_perplexity import measure_perplexity
from workflow_scripts.evaluation.requests import PerplexityRequest
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.plan_measures import PerplexityMeasures


def measure(world, chunkable, folder, study, plans=()):
    request = PerplexityRequest(
        study=study,
        plans=plans,
        measures=PerplexityMeasures(responses=4, text_tokens=400),
        compute=Compute(device="cpu"),
        seed=0,
    )
    paths = folder / "wikitext.json", folder / "magpie.json"
    measure_perplexity(chunkable, world, *paths, request)
    text, responses = map(read_complete_record, paths)
    assert PerplexityRequest.of(text.request) == request
    return text, responses


def test_a_record_has_a_condition_for_each_plan(world, chunkable, tmp_path):
    keys = {"num_layers_per_chunk": 1, "aggregation_mode": "mean", "use_adapters": False}
    plans = (
        Checkpoint(model=CHUNKABLE, mode="sequential", **keys),
        Checkpoint(model=CHUNKABLE, mode="prune", layers_to_prune=(1,)),
    )
    text, responses = measure(world, chunkable, tmp_path, "chunking", plans)
    unchanged, chunked, pruned = [m.condition for m in text.metrics if m.name == "perplexity"]
    assert unchanged == Condition(plan="k0m0")
    assert chunked.plan.endswith("-sequential") and chunked.aggregation == "mean"
    assert pruned == Condition(plan="prune1")
    easy = Condition(plan="prune1", difficulty="easy")
    assert [m.n for m in responses.metrics if m.condition == easy] == [4, 4]
    items = read_items(tmp_path / "magpie.parquet").column("item").to_pylist()
    assert len(set(items)) == 12 and items[-1] == "magpie/prune1/easy/3"


def test_of_a_checkpoint_only_the_difficulty_is_varied(world, chunkable, tmp_path):
    text, responses = measure(world, chunkable, tmp_path, "training")
    assert {metric.condition for metric in text.metrics} == {None}
    assert {metric.condition for metric in responses.metrics} == {Condition(difficulty="easy")}
