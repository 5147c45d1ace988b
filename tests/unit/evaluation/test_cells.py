"""What a cell is asked: the config's words, narrowed to it, and as a rule hands them on."""

import json

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.evaluation.cells import CellsRequest, harmony_cells, suite_cells
from workflow_scripts.grid.requests import corpus_request
from workflow_scripts.settings.job_batches import list_tasks_asked
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.settings.load import load_settings

HARMONY = {"tasks": ["sst2", "truthfulqa_mc2", "rte"], "max_test_items": 7, "seeds": [3, 5]}


def load(**override):
    return load_settings(merged({"harmony": HARMONY} | override), ROOT)


def row(precision: str) -> Request:
    return Request(name="miniature/Llama-1.4M", precision=precision, model_type="pretrained")


def test_a_request_survives_the_params_of_a_rule():
    for protocol in ("direct", "few_shot", "train_before_test"):
        for request in (
            harmony_cells(load(), protocol, ("sst2", "rte")),
            suite_cells(load(), row("bfloat16"), protocol, ("gsm8k", "mmlu")),
        ):
            params = json.loads(json.dumps(request.to_params()))
            assert CellsRequest.of(params) == request


def test_a_cells_request_does_not_depend_on_what_shares_its_job():
    alone = harmony_cells(load(), "train_before_test", ("rte",)).cells()
    shared = harmony_cells(load(), "train_before_test", ("sst2", "rte")).cells()
    assert list(shared) == ["sst2", "sst2.seed-5", "rte", "rte.seed-5"]
    assert alone == {name: cell for name, cell in shared.items() if name.startswith("rte")}
    assert (shared["rte"].seed, shared["rte.seed-5"].seed) == (3, 5)


def test_shots_items_seeds_and_recipe_are_the_studys_own():
    settings = load(suite={"max_items": 4})
    for protocol, shots in (("direct", 0), ("few_shot", 5), ("train_before_test", 0)):
        request = harmony_cells(settings, protocol, ("sst2",))
        task = request.cells()["sst2"].task
        assert (task.shots, task.max_test_items, task.metric) == (shots, 7, "acc")
        trains = protocol == "train_before_test"
        assert request.seeds == ((3, 5) if trains else (settings.seed,))
        assert (request.recipe is not None) == trains
    request = suite_cells(settings, row("float32"), "few_shot", ("mmlu", "arc_challenge"))
    assert {name: (one.shots, one.max_test_items) for name, one in request.tasks.items()} == {
        "arc_challenge": (25, 4),
        "mmlu": (5, 2),  # of each subject
    }
    assert request.max_items_per_member and request.keep_texts
    assert request.datasets == ["allenai/ai2_arc", "cais/mmlu"]


def test_a_row_runs_in_its_own_precision_and_flash_attention_where_that_can():
    settings = load(compute={"dtype": "bfloat16", "attention": "flash_attention_2"})
    for precision, attention in (("float16", "flash_attention_2"), ("float32", "auto")):
        compute = suite_cells(settings, row(precision), "few_shot", ("mmlu",)).compute
        assert (compute.dtype, compute.attention) == (precision, attention)


def test_tasks_without_a_training_split_are_evaluated_directly_alone():
    settings = load()
    assert list_tasks_asked(settings, "harmony", "direct") == ("sst2", "truthfulqa_mc2", "rte")
    assert list_tasks_asked(settings, "harmony", "train_before_test") == ("sst2", "rte")
    assert "truthfulqa_mc2" not in list_tasks_asked(settings, "suite", "train_before_test")


def test_a_corpus_request_depends_on_its_own_keys_of_the_recipe():
    first = corpus_request(load(), "mine")
    for keys, is_same in (({"max_training_items": 9}, True), ({"epochs": 9}, False)):
        changed = load(harmony=HARMONY | {"recipes": {"miniature": keys}})
        assert (corpus_request(changed, "mine") == first) == is_same
