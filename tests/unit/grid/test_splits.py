"""Nothing that decides a training is ever an item of the test, for each of the 24 tasks."""

import csv

import pytest

from tests.processes import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import TaskRecipe


def trained_tasks() -> list[str]:
    """The published 24: those of the table with a training split, but for perplexity."""
    with (ROOT / "config/tasks.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        row["harness_task"]
        for row in rows
        if row["training"] == "yes" and row["category"] != "Language Modelling"
    ]


TASKS = trained_tasks()
RECIPE = TaskRecipe(held_out_share=0.2, max_training_items=50_000, max_validation_items=1_000)


def texts(documents) -> set[str]:
    return {canonical_json(dict(document)) for document in documents}


def choosing_documents(splits):
    documents = splits.choosing.eval_docs
    return [documents[at] for at in splits.choosing_items]


def test_there_are_24_tasks():
    assert len(TASKS) == 24


@pytest.mark.parametrize("name", TASKS)
def test_training_choosing_and_test_share_no_item(world, name):
    with mirror(world):
        splits = load_splits(name, RECIPE, seed=0)
        (untouched,) = load_tasks([name]).values()
        test = texts(untouched.eval_docs)
        assert texts(splits.test.eval_docs) == test
        training, choosing = texts(splits.training), texts(choosing_documents(splits))
    assert training and choosing
    assert not training & test
    assert not choosing & test
    assert not training & choosing
    config = untouched.config
    if config.test_split and config.validation_split not in (None, config.test_split):
        assert splits.choosing_split == config.validation_split
    else:
        # The only other split is the test, so these are the training's own.
        whole = texts(untouched.training_docs())
        assert training | choosing == whole
        assert len(choosing) == round(0.2 * len(whole))


def test_medmcqa_is_not_chosen_on_its_test(world):
    """lm-eval names one split as both; as published, the epoch was chosen on the test."""
    with mirror(world):
        (task,) = load_tasks(["medmcqa"]).values()
        assert task.config.validation_split == task.config.test_split
        assert load_splits("medmcqa", RECIPE, seed=0).choosing_split == "held_out_of_training"
        as_published = RECIPE.model_copy(update={"choose_on_test": True})
        assert load_splits("medmcqa", as_published, seed=0).choosing_split == "validation"
        # A task with no split beside its test has none to choose on either way.
        assert load_splits("sst2", as_published, seed=0).choosing_split == "held_out_of_training"


def test_caps_draw_by_seed(world):
    def draw(seed):
        caps = RECIPE.model_copy(update={"max_training_items": 30, "max_validation_items": 7})
        with mirror(world):
            splits = load_splits("sst2", caps, seed=seed)
            return texts(splits.training), texts(choosing_documents(splits))

    first, again, other = draw(1), draw(1), draw(2)
    assert first == again
    assert first != other
    assert [len(part) for part in first] == [30, 7]


def test_a_task_without_training_items_is_refused(world):
    with mirror(world), pytest.raises(UserError, match="'truthfulqa_mc2' has no training split"):
        load_splits("truthfulqa_mc2", RECIPE, seed=0)
