"""What the tables of the ranking are made of: protocols, origins, statistics, and their columns."""

from workflow_scripts.render.frames import Kind

STUDY = "harmony"
OWN = "own"  # the origin of our scores; that of imported ones is their file's name
DIRECT, FEW_SHOT, TRAINED = "direct", "few_shot", "train_before_test"
FLOORED = "train_before_test_floored"
PROTOCOLS = {
    DIRECT: "direct",
    FEW_SHOT: "few-shot",
    TRAINED: "train-before-test",
    FLOORED: "train-before-test, floored",
}
# Their keys in the names of numbers, and how sentences and the board call them.
KEYS = {DIRECT: "direct", FEW_SHOT: "few_shot", TRAINED: "trained"}
TOLD = {
    DIRECT: "as the models are",
    FEW_SHOT: "with few-shot examples",
    TRAINED: "after training",
}
EXPLAINED = TOLD | {
    FEW_SHOT: "with examples in front of each item",
    TRAINED: "after every model was trained on each task",
}
# Said under every table of the ranking.
RAW_AND_MISSING = (
    "train-before-test has our raw scores, and imported ones as their source has them; floored is the"
    " better of the raw and the direct score. Missing cells are left out; harmony_leaderboard lists"
    " them."
)
# What the table of agreement has a number of.
MEAN, OWN_REDRAW, CEILING = "mean", "own_redraw", "ceiling"
DIFFERENCE, SHARE = "difference_from_direct", "share_improving_on_direct"
TASK, TASK_CEILING, CATEGORY, PAIR = "task", "task_ceiling", "category", "pair"
STATISTICS = {
    MEAN: "mean agreement",
    OWN_REDRAW: "agreement of a task with its own redraw",
    CEILING: "noise ceiling of that mean",
    DIFFERENCE: "mean agreement minus direct",
    SHARE: "share of pairs that improve on direct",
    TASK: "task with the others",
    TASK_CEILING: "noise ceiling of that task",
    CATEGORY: "category",
    PAIR: "pair",
}
OVERALL = "mean of tasks"  # in the table of significance, what is not about one task
FIRST_COMPONENT = "PC1"
# Columns that depend on the tasks are named after them.
LOADING, RESIDUAL, ERROR = "loading_", "residual_", "_stderr"
TASK_NAME = r"[a-z][a-z0-9_]*"


def of_kind(kind: Kind, names: str) -> dict[str, Kind]:
    """Columns of one kind, their names between spaces."""
    return dict.fromkeys(names.split(), kind)
