"""What the tables of the ranking are made of: origins, statistics, and their columns."""

import pandas as pd

from workflow_scripts.stats.score_errors import SAMPLE
from workflow_scripts.studies.ranking.grid_settings import GridSettings

STUDY = "harmony"
OWN = "own"  # the origin of our scores; that of imported ones is their file's name
# The protocols of a run, as config/grids/own.yaml describes them.
DIRECT, FEW_SHOT, TRAINED = "direct", "few_shot", "train_before_test"
FLOORED = "train_before_test_floored"
# Their keys in the names of numbers, and how sentences call them.
KEYS = {DIRECT: "direct", FEW_SHOT: "few_shot", TRAINED: "trained"}
EXPLAINED = {
    DIRECT: "zero-shot",
    FEW_SHOT: "with examples in front of each item",
    TRAINED: "after every model was trained on each task",
}
# Said under every table of the ranking of a run.
RAW_AND_MISSING = (
    " train-before-test has our raw scores, and imported ones as their source has them; clipped is the"
    " better of the raw and the zero-shot score. Missing cells are left out; harmony_leaderboard lists"
    " them, and estimates them for its ranks."
)
# Behind "had other items been drawn": whether another training of each model is drawn as well.
TRAININGS = {
    "seeds": ", and had each model been trained with another seed",
    "release": ", and had each model been trained again, as two releases differ",
    "published": ", and had each model been trained again, as the two published releases differ",
    "unknown": "; how another training would have come out is not known",
}
# Said where it is so, behind the notes of tables.
SAMPLED = (
    f" Of more than {SAMPLE} models a sample of {SAMPLE} is drawn again, whose mean single models move more than that"
    " of all: intervals over items are too wide, by up to twice for four times as many models."
    " Of more than 64 families, or"
    " models, 24 groups are left out in turn, dealt at random."
)
ESTIMATED = "†"  # behind what rests on scores that were not measured
# What the table of agreement has a number of.
MEAN, OWN_REDRAW, CEILING = "mean", "own_redraw", "ceiling"
DIFFERENCE, SHARE = "difference_from_direct", "share_improving_on_direct"
TASK, TASK_CEILING, CATEGORY, PAIR = "task", "task_ceiling", "category", "pair"
STATISTICS = {
    MEAN: "mean agreement",
    OWN_REDRAW: "agreement of a task with its own redraw",
    CEILING: "ceiling of that mean",
    DIFFERENCE: "mean agreement minus direct",
    SHARE: "share of pairs that improve on direct",
    TASK: "task with the others",
    TASK_CEILING: "ceiling of that task",
    CATEGORY: "category",
    PAIR: "pair",
}
MEASURES = {"kendall": "Kendall's tau-b", "pearson": "Pearson's r"}
OVERALL = "mean of tasks"  # in the table of significance, what is not about one task
FIRST_COMPONENT = "PC1"
# Columns that depend on the tasks are named after them.
LOADING, ERROR = "loading_", "_stderr"


def make_title(words: str, settings: GridSettings) -> str:
    """The title of a table, behind that of a grid that is not the run's."""
    grid = settings.grid
    return words if grid.run else f"{grid.title}: {words[0].lower()}{words[1:]}"


def describe_draws(note: str, table: pd.DataFrame, settings: GridSettings) -> str:
    """Fill in a note's `{trainings}` and `{last}`: what was drawn again, and what holds of a run's grid."""
    sampled = SAMPLED if table["models"].max() > SAMPLE else ""
    last = sampled + (RAW_AND_MISSING if settings.grid.run else "")
    return note.format(trainings=TRAININGS[settings.trainings], last=last)
