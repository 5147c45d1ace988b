"""The panel: models with a score on each of its tasks, among which other models are placed."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from pandas.core.groupby import DataFrameGroupBy

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.published_leaderboard import PROTOCOL
from workflow_scripts.settings.sentences import listed

FEWEST_MODELS = 10  # that a place can be learned from
SAME = 1e-9  # far below one item of the largest task


class Panel(NamedTuple):
    scores: pd.DataFrame
    """Models in rows, tasks in columns, as fractions."""
    protocol: str


def panel_of(path: Path, metrics: Mapping[str, str]) -> Panel:
    """Without the models that lack a score, and without tasks on which all are alike, which order nobody.

    Of scores under several protocols those after training count, and of several seeds their mean.
    """
    scores = read_imported(path, metrics, others=True)
    scores = scores[scores["task"].isin(list(metrics)) & scores["subset"].isna()]
    protocols = set(scores["protocol"])
    protocol = PROTOCOL if PROTOCOL in protocols else next(iter(protocols), "")
    if protocol != PROTOCOL and len(protocols) > 1:
        raise UserError(
            f"{path} has scores under {listed(sorted(protocols))}; a panel is expected to have scores of one"
            f" protocol, or {PROTOCOL} among them."
        )
    scores = scores[scores["protocol"] == protocol]
    scores = scores.assign(
        model=(scores["model"] + scores["variant"]).astype(object),
        task=scores["task"].astype(object),
        value=scores["value"].astype(float),
    )
    cells = scores.groupby(["model", "task"], sort=False)
    _refuse_several(path, scores, cells)
    wide = cells["value"].mean().unstack()
    wide = wide.reindex(index=scores["model"].unique(), columns=scores["task"].unique())
    whole = wide.dropna()
    if len(whole) < FEWEST_MODELS:
        raise UserError(
            f"{path} has {len(whole)} models with a score on each of its {wide.shape[1]} tasks; a panel is"
            f" expected to have at least {FEWEST_MODELS}."
        )
    # Means of the same scores of other seeds may differ in the last digit.
    whole = whole.loc[:, whole.max() - whole.min() > SAME]
    if whole.empty:
        raise UserError(
            f"{path} has no task on which its models differ; a panel is expected to have some."
        )
    return Panel(whole.rename_axis(index="model", columns=None), protocol)


def _refuse_several(path: Path, scores: pd.DataFrame, cells: DataFrameGroupBy) -> None:
    """Scores of a model on a task that differ in more than their seeds, of which a mean would say nothing."""
    apart = scores[cells["shots"].transform("nunique", dropna=False) > 1]
    for (model, task), several in (
        apart.groupby(["model", "task"], sort=False)["shots"].unique().items()
    ):
        numbers = listed(["none told" if pd.isna(one) else str(one) for one in several])
        raise UserError(
            f"{path} has scores of {model} on {task} with several numbers of examples, {numbers};"
            " a panel is expected to have one."
        )
    unknown = scores[scores["seed"].isna() & (cells["value"].transform("size") > 1)]
    for model, task in unknown[["model", "task"]].itertuples(index=False):
        raise UserError(
            f"{path} has scores of {model} on {task} with a seed and without; a panel is expected to have one"
            " score of each, or several that differ in their seeds."
        )
