"""Read the published leaderboard of train-before-test, a wide table in percent."""

from pathlib import Path

import pandas as pd

from workflow_scripts.scores.files import read_external_csv
from workflow_scripts.settings.grids import FOLDER, PUBLISHED_GRID
from workflow_scripts.settings.names import ROOT
from workflow_scripts.settings.yaml_files import read_yaml

LEADING_COLUMNS = ("model", "rank", "pc1")
PROTOCOL = "train_before_test"
# Test items of each task, which the leaderboard does not print: the sizes of the evaluation splits, at most
# 10,000. Every printed accuracy is a whole number of these items.
TEST_ITEMS = {
    "cola": 1043,
    "mnli": 9815,
    "qnli": 5463,
    "rte": 277,
    "mrpc": 408,
    "qqp": 10_000,
    "sst2": 872,
    "boolq": 3270,
    "wic": 638,
    "anli_r1": 1000,
    "commonsense_qa": 1221,
    "social_iqa": 1954,
    "winogrande": 1267,
    "openbookqa": 500,
    "hellaswag": 10_000,
    "arc_easy": 2376,
    "arc_challenge": 1172,
    "headqa_en": 2742,
    "mathqa": 2985,
    "medmcqa": 4183,
    "piqa": 1838,
    "sciq": 1000,
    "nq_open": 3610,
    "gsm8k": 1319,
}
# Acceptable and unacceptable sentences of cola; its Matthews' coefficient depends on both counts.
COLA_LABEL_COUNTS = (721, 322)


def read_metrics() -> dict[str, str]:
    """Read the metric of each task, which the leaderboard does not print either, from the published grid."""
    grid = read_yaml(ROOT / FOLDER / f"{PUBLISHED_GRID}.yaml")
    return {task: fields["metric"] for task, fields in grid["tasks"].items()}


def read_wide_scores(path: Path) -> pd.DataFrame:
    """Read the scores as fractions, with models in rows and tasks in columns."""
    expected = "the column model, a column for each task, and a line for each model"
    return convert_to_fractions(read_external_csv(path, expected, index_col="model"))


def convert_to_fractions(wide: pd.DataFrame) -> pd.DataFrame:
    """Return only the scores, as fractions, with the model as index."""
    return wide.drop(columns=list(LEADING_COLUMNS), errors="ignore") / 100
