"""What is known of new models' places after each task, at a risk that all looks share.

Whoever looks after each task and stops when the answer is clear is wrong more often than an interval of one
look says. Here the looks that there can be at most are counted beforehand, and each has its part of the
risk (Bonferroni): whatever the scores have in common, the chance that the interval of any look misses, and
so the chance of a wrong stop, is at most the risk, as far as that of a single interval is what it says.
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import LEVEL
from workflow_scripts.stats.placement import Fitted, fit, place
from workflow_scripts.stats.unseen_families import NORMAL

RISK = 1 - LEVEL


def quantile(statements: int) -> float:
    """Standard deviations on either side, so that all of as many statements hold with 1 - RISK."""
    return NormalDist().inv_cdf(1 - RISK / 2 / statements)


def places(
    panel: pd.DataFrame,
    families: pd.Series,
    scores: pd.DataFrame,
    stderrs: pd.DataFrame,
    tasks: Sequence[str],
    most: int,
) -> pd.DataFrame:
    """A row for each look, which has one task more, and model: PC1, `spread`, its standard deviation, low and high.

    `most` looks can there be. Low and high are what all looks so far leave.
    """
    rows = []
    fitted: dict[tuple[str, ...], Fitted] = {}
    for look in range(1, len(tasks) + 1):
        for model in scores.index:
            measured = scores.loc[model, list(tasks[:look])].dropna()
            if measured.empty:
                continue
            on = tuple(measured.index)
            if on not in fitted:
                fitted[on] = fit(panel, list(on), families)
            found = place(panel, measured, families, stderrs.loc[model], fitted[on])
            spread = (found.pc1 - found.low) / NORMAL
            rows.append({"look": look, "model": model, "pc1": found.pc1, "spread": spread})
    table = pd.DataFrame(rows, columns=["look", "model", "pc1", "spread"])
    half = quantile(most) * table["spread"]
    by_model = table["model"]
    table["low"] = (table["pc1"] - half).groupby(by_model).cummax()
    table["high"] = (table["pc1"] + half).groupby(by_model).cummin()
    return table


def first_apart(table: pd.DataFrame, order: Sequence[str], most: int) -> dict[tuple[str, str], int]:
    """By pair of these models, the better one first, the look that told them apart; others are left out.

    Two models' errors are taken to have nothing in common; what they have, as of one family, makes the
    difference smaller.
    """
    pairs = list(combinations(order, 2))
    limit = quantile(most * max(len(pairs), 1))
    of = {name: rows.set_index("look") for name, rows in table.groupby("model")}
    found = {}
    for one, other in pairs:
        if one not in of or other not in of:
            continue
        difference = (of[one]["pc1"] - of[other]["pc1"]).dropna()
        spread = np.hypot(of[one]["spread"], of[other]["spread"])[difference.index]
        clear = difference.index[difference.abs() > limit * spread]
        if len(clear):
            pair = (one, other) if difference[clear[0]] > 0 else (other, one)
            found[pair] = int(clear[0])
    return found
