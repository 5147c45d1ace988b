"""The request of a cell: the config's values, narrowed to it, as a rule passes them on."""

import json

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.evaluation.cells import CellsRequest, build_suite_cells, harmony_cells
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.settings.load import load_settings

HARMONY = {"tasks": ["sst2", "truthfulqa_mc2", "rte"], "max_test_items": 7, "seeds": [3, 5]}


def load(**override):
    return load_settings(merged({"harmony": HARMONY} | override), ROOT)


def build_suite(settings, precision="float32", tasks=("mmlu", "arc_challenge")):
    row = Request(name="miniature/Llama-1.4M", precision=precision, model_type="pretrained")
    return build_suite_cells(settings, row, "few_shot", tasks)


def test_harmony_and_suite_cells():
    settings = load(suite={"max_items": 4})
    for protocol, shots in (("direct", 0), ("few_shot", 5), ("train_before_test", 0)):
        request = harmony_cells(settings, protocol, ("sst2", "rte"))
        assert CellsRequest.of(json.loads(json.dumps(request.to_params()))) == request
        task = request.cells()["sst2"].task
        assert (task.shots, task.max_test_items, task.metric) == (shots, 7, "acc")
        trains = protocol == "train_before_test"
        assert request.seeds == ((3, 5) if trains else (settings.seed,))
        assert (request.recipe is not None) == trains
    # A cell does not depend on what shares its job.
    shared = request.cells()
    alone = harmony_cells(settings, "train_before_test", ("rte",)).cells()
    assert list(shared) == ["sst2", "sst2.seed-5", "rte", "rte.seed-5"]
    assert alone == {name: cell for name, cell in shared.items() if name.startswith("rte")}
    assert (shared["rte"].seed, shared["rte.seed-5"].seed) == (3, 5)
    request = build_suite(settings)
    assert {name: (task.shots, task.max_test_items) for name, task in request.tasks.items()} == {
        "arc_challenge": (25, 4),
        "mmlu": (5, 2),  # of each subject
    }
    assert request.datasets == ["allenai/ai2_arc", "cais/mmlu"]


def test_suite_precision_and_attention():
    settings = load(compute={"dtype": "bfloat16", "attention": "flash_attention_2"})
    for precision, attention in (("float16", "flash_attention_2"), ("float32", "auto")):
        compute = build_suite(settings, precision).compute
        assert (compute.dtype, compute.attention) == (precision, attention)
