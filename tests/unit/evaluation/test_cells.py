"""What a cell is asked: the config's words, narrowed to it, and as a rule hands them on."""

import json

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.evaluation.cells import CellsRequest, harmony_cells, suite_cells
from workflow_scripts.grid.requests import CorpusRequest, corpus_request
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.packs import tasks_of
from workflow_scripts.settings.requests import Request

HARMONY = {"tasks": ["sst2", "truthfulqa_mc2", "rte"], "max_test_items": 7, "seeds": [3, 5]}


def load(**override):
    return load_settings(merged({"harmony": HARMONY} | override), ROOT)


def row(precision: str) -> Request:
    return Request(name="miniature/Llama-1.4M", precision=precision, model_type="pretrained")


def as_handed_on(asked):
    """Through the params of a rule, which are plain values."""
    return type(asked).of(json.loads(json.dumps(asked.as_params())))


@pytest.mark.parametrize("protocol", ["direct", "few_shot", "train_before_test"])
def test_a_request_is_the_same_behind_the_rule(protocol):
    for asked in (
        harmony_cells(load(), protocol, ("sst2", "rte")),
        suite_cells(load(), row("bfloat16"), protocol, ("gsm8k", "mmlu")),
        corpus_request(load(), "mine"),
    ):
        assert as_handed_on(asked) == asked
        assert as_handed_on(asked).sha256 == asked.sha256


def test_the_text_that_is_trained_on_is_asked_by_the_recipe():
    recipes = {"miniature": {"training_text": "published"}}
    for override, text in ({}, "as_tested"), ({"recipes": recipes}, "published"):
        cells = harmony_cells(load(harmony=HARMONY | override), "train_before_test", ("rte",))
        assert cells.as_params()["recipe"]["training_text"] == text


def test_a_cells_request_does_not_depend_on_what_shares_its_job():
    alone = harmony_cells(load(), "train_before_test", ("rte",)).cells()
    shared = harmony_cells(load(), "train_before_test", ("sst2", "rte")).cells()
    assert list(shared) == ["sst2", "sst2.seed-5", "rte", "rte.seed-5"]
    assert alone == {name: cell for name, cell in shared.items() if name.startswith("rte")}
    assert (shared["rte"].seed, shared["rte.seed-5"].seed) == (3, 5)
    assert shared["rte"].task.harness_task == "rte"


def test_only_a_training_has_seeds_of_its_own_and_a_recipe():
    settings = load()
    direct = harmony_cells(settings, "direct", ("sst2",))
    assert (direct.seeds, direct.recipe) == ((settings.seed,), None)
    assert harmony_cells(settings, "train_before_test", ("sst2",)).recipe.max_training_items == 256
    assert suite_cells(settings, row("float32"), "train_before_test", ("mmlu",)).seeds == (0,)


def test_shots_and_items_are_the_studys_own():
    settings = load(suite={"max_items": 4})
    for protocol, shots in (("direct", 0), ("few_shot", 5), ("train_before_test", 0)):
        task = harmony_cells(settings, protocol, ("sst2",)).cells()["sst2"].task
        assert (task.shots, task.max_test_items, task.metric) == (shots, 7, "acc")
    asked = suite_cells(settings, row("float32"), "few_shot", ("mmlu", "arc_challenge"))
    assert {name: (one.shots, one.max_test_items) for name, one in asked.tasks.items()} == {
        "arc_challenge": (25, 4),
        "mmlu": (5, 2),  # of each subject
    }
    assert asked.max_items_per_member and asked.keep_texts
    assert asked.datasets == ["allenai/ai2_arc", "cais/mmlu"]


def test_a_row_runs_in_its_own_precision_and_flash_attention_where_that_can():
    settings = load(compute={"dtype": "bfloat16", "attention": "flash_attention_2"})
    for precision, attention in (("float16", "flash_attention_2"), ("float32", "auto")):
        compute = suite_cells(settings, row(precision), "few_shot", ("mmlu",)).compute
        assert (compute.dtype, compute.attention) == (precision, attention)


def test_what_needs_a_training_split_is_asked_of_tasks_that_have_one():
    settings, trained = load(), ("sst2", "rte")
    assert tasks_of(settings, "harmony", "direct") == ("sst2", "truthfulqa_mc2", "rte")
    assert tasks_of(settings, "harmony", "few_shot") == trained
    assert tasks_of(settings, "harmony", "train_before_test") == trained
    assert "truthfulqa_mc2" in tasks_of(settings, "suite", "few_shot")
    assert "truthfulqa_mc2" not in tasks_of(settings, "suite", "train_before_test")


def test_a_text_is_trained_on_by_the_recipe_but_for_what_is_of_tasks():
    first = corpus_request(load(), "mine")
    recipes = {"miniature": {"max_training_items": 9}}
    assert corpus_request(load(harmony=HARMONY | {"recipes": recipes}), "mine") == first
    recipes = {"miniature": {"epochs": 9}}
    assert corpus_request(load(harmony=HARMONY | {"recipes": recipes}), "mine") != first
    assert isinstance(first, CorpusRequest) and not isinstance(first, CellsRequest)
