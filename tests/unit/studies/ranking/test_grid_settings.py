"""What scripts of the ranking are given follows from the settings."""

from tests.unit.settings.merged import load
from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.studies.ranking.grid_settings import (
    choose_task_pair,
    list_wanted_cells,
)

CHECKPOINT = "miniature/Qwen2-1M-Instruct@k2m12"
HARMONY = {
    "models": ["miniature/Llama-1.4M", CHECKPOINT],
    "tasks": ["rte", "truthfulqa_mc2"],
    "protocols": ["direct", "train_before_test"],
}


def settings(**changes):
    return load({"harmony": HARMONY | changes})


def test_every_protocol_of_the_config_wants_the_tasks_that_it_can_measure():
    wanted = list_wanted_cells(settings(), OWN_GRID)
    models = ["miniature/Llama-1.4M", CHECKPOINT]
    # The other task has no training split.
    assert wanted == {
        "direct": {"models": models, "tasks": ["rte", "truthfulqa_mc2"]},
        "train_before_test": {"models": models, "tasks": ["rte"]},
    }
    assert list_wanted_cells(settings(), "published") == {}
    assert list_wanted_cells(settings(models=[]), OWN_GRID) == {}


def test_the_two_tasks_beside_one_another_are_those_of_the_config_or_its_first():
    for changes, pair in (
        ({}, ["rte", "truthfulqa_mc2"]),
        ({"tasks": ["rte"]}, ["rte"]),
        ({"tasks": ["rte", "mnli", "cola"], "task_pair": ["cola", "rte"]}, ["cola", "rte"]),
        ({"models": [], "tasks": ["rte", "mnli"]}, []),
    ):
        assert choose_task_pair(settings(**changes), OWN_GRID) == pair
