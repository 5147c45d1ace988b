"""Generate random score matrices with the ties, missing cells and scales of real ones."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.settings.tables import ModelRow, read_table
from workflow_scripts.stats.item_errors import build_assumed_errors
from workflow_scripts.stats.score_errors import ScoreErrors

ROOT = Path(__file__).parents[3]
LEADERBOARD = ROOT / "resources/published/harmony_leaderboard.csv"


def read_leaderboard() -> pd.DataFrame:
    return pd.read_csv(LEADERBOARD, index_col="model")


def read_published_scores() -> pd.DataFrame:
    """Read the 24 task columns as fractions."""
    return read_leaderboard().drop(columns=["rank", "pc1"]) / 100


def read_families() -> pd.Series:
    rows = read_table(ModelRow, ROOT / "config/models.tsv")
    return pd.Series({name: row.family for name, row in rows.items()})


def make_random_scores(
    seed: int, models: int = 12, tasks: int = 5, *, gaps: float = 0.0, digits: int = 1
) -> pd.DataFrame:
    """Draw scores from an ability per model plus noise, rounded to create ties, with missing cells."""
    generator = np.random.default_rng(seed)
    ability = generator.standard_normal((models, 1))
    values = ability + generator.uniform(0.3, 2, tasks) * generator.standard_normal((models, tasks))
    values = values.round(digits)
    values[generator.random(values.shape) < gaps] = np.nan
    return pd.DataFrame(values).rename("model {}".format).rename("task {}".format, axis=1)


def build_score_errors(
    scores: pd.DataFrame, stderrs: pd.DataFrame, correlation: float = 0.0, training: float = 0.0
) -> ScoreErrors:
    """Build errors from standard errors, one correlation between models, and the SD over training runs."""
    items = {
        task: build_assumed_errors(stderrs[task].to_numpy(float), correlation) for task in scores
    }
    return ScoreErrors(scores, items, scores * 0.0 + training)
