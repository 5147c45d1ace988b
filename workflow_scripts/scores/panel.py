"""Read the panel: reference models with a score on each task, among which other models are placed."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.published_leaderboard import PROTOCOL

MIN_MODELS = 10  # fewest reference models for a placement
TOLERANCE = 1e-9  # far below one item of the largest task


class Panel(NamedTuple):
    scores: pd.DataFrame
    """Models in rows, tasks in columns, as fractions."""
    protocol: str


def read_panel_scores(path: Path, metrics: Mapping[str, str]) -> Panel:
    """Read a panel, without models that lack a score and tasks on which all models score the same.

    If there are several protocols, train-before-test is used; several seeds are averaged.
    """
    scores = read_imported(path, metrics)
    scores = scores[scores["task"].isin(list(metrics)) & scores["subset"].isna()]
    protocols = scores["protocol"].unique().tolist()
    if len(protocols) != 1 and PROTOCOL not in protocols:
        raise UserError(f"{path} has scores under {protocols}; expected one protocol.")
    protocol = PROTOCOL if PROTOCOL in protocols else protocols[0]
    scores = scores[scores["protocol"] == protocol]
    model = (scores["model"] + scores["variant"]).astype(object)
    scores = scores.assign(model=model, task=scores["task"].astype(object))
    cells = scores.groupby(["model", "task"], sort=False)
    if (cells["shots"].nunique(dropna=False) > 1).any():
        raise UserError(f"{path} has scores with several numbers of examples; expected one.")
    wide = cells["value"].mean().astype(float).unstack()
    wide = wide.reindex(index=scores["model"].unique(), columns=scores["task"].unique()).dropna()
    # Means over the seeds of equal scores may differ in the last digit.
    wide = wide.loc[:, wide.max() - wide.min() > TOLERANCE]
    if len(wide) < MIN_MODELS or wide.empty:
        raise UserError(
            f"{path} has {len(wide)} models with a score on each task, and {wide.shape[1]} tasks on which they"
            f" differ; a panel is expected to have at least {MIN_MODELS} models."
        )
    return Panel(wide.rename_axis(index="model", columns=None), protocol)
