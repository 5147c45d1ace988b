"""Read the panel: reference models with a score on each task, among which the ranks of other models are predicted."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.published_leaderboard import PROTOCOL

MIN_MODELS = 10  # fewest reference models for a prediction
TOLERANCE = 1e-9  # far below one item of the largest task


def read_panel_scores(path: Path, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Read a panel of models (rows) on tasks, without models that lack a score and tasks on which all score the same.

    If there are several protocols, train-before-test is used; several seeds are averaged.
    """
    scores = read_imported(path, metrics)
    scores = scores[scores["task"].isin(list(metrics)) & scores["subset"].isna()]
    protocols = scores["protocol"].unique().tolist()
    if len(protocols) != 1 and PROTOCOL not in protocols:
        raise UserError(f"{path} has scores under {protocols}; expected one protocol.")
    protocol = PROTOCOL if PROTOCOL in protocols else protocols[0]
    scores = scores[scores["protocol"] == protocol]
    scores = scores.assign(model=scores["model"] + scores["variant"])
    if scores.groupby(["model", "task"])["shots"].nunique(dropna=False).max() > 1:
        raise UserError(f"{path} has scores with several numbers of examples; expected one.")
    scores = scores.astype({"model": object, "task": object, "value": float})
    wide = scores.pivot_table("value", "model", "task", sort=False).dropna()
    # Means over the seeds of equal scores may differ in the last digit.
    wide = wide.loc[:, wide.max() - wide.min() > TOLERANCE]
    if len(wide) < MIN_MODELS or wide.empty:
        raise UserError(
            f"{path} has {len(wide)} models with a score on each task, and {wide.shape[1]} tasks on which they"
            f" differ; a panel is expected to have at least {MIN_MODELS} models."
        )
    return wide.rename_axis(columns=None)
