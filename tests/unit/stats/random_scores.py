"""Random score matrices with what real ones have: ties, missing cells, different scales."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import assumed_errors
from workflow_scripts.stats.score_errors import ScoreErrors

SEEDS = (0, 1, 2, 3, 5, 8, 13, 21)
LEADERBOARD = Path(__file__).parents[3] / "resources/published/harmony_leaderboard.csv"


def published() -> pd.DataFrame:
    return pd.read_csv(LEADERBOARD, index_col="model")


def published_scores() -> pd.DataFrame:
    """The 24 columns alone, in percent."""
    return published().drop(columns=["rank", "pc1"])


def random_scores(
    seed: int, models: int = 12, tasks: int = 5, *, gaps: float = 0.0, digits: int = 1
) -> pd.DataFrame:
    """A common ability and noise, rounded so that there are ties; a share of the cells missing."""
    generator = np.random.default_rng(seed)
    ability = generator.standard_normal((models, 1))
    values = ability + generator.uniform(0.3, 2, tasks) * generator.standard_normal((models, tasks))
    values = values.round(digits)
    values[generator.random(values.shape) < gaps] = np.nan
    return pd.DataFrame(
        values,
        index=[f"model {at}" for at in range(models)],
        columns=[f"task {at}" for at in range(tasks)],
    )


def format_with_errors(
    scores: pd.DataFrame, stderrs: pd.DataFrame, correlation: float = 0.0, training: float = 0.0
) -> ScoreErrors:
    """From standard errors that any two models' correlate alike of, and a spread over trainings."""
    items = {task: assumed_errors(stderrs[task].to_numpy(float), correlation) for task in scores}
    return ScoreErrors(scores, items, scores * 0.0 + training)
