"""What the authors' own two releases of their grid say about a third run of it.

The leaderboard of their README and the scores beside their code are two runs of 61 models on 24 tasks.
"""

from collections.abc import Iterable

import pandas as pd

from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS
from workflow_scripts.stats.reruns import Reruns, differences_of, reruns_of
from workflow_scripts.studies.harmony.requests import PublishedModel
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED


def published_reruns(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: Iterable[PublishedModel]
) -> Reruns:
    """From the two files as they are: the wide table in percent, and the long one in fractions."""
    first = leaderboard.set_index("model").drop(columns=list(LEADING_COLUMNS[1:])) / 100
    by_protocol = {
        protocol: rows.pivot(index="model", columns="task", values="value")
        for protocol, rows in cells.groupby("protocol")
    }
    differences = differences_of(first, by_protocol[TRAINED], by_protocol[DIRECT])
    about = pd.DataFrame(map(dict, models), columns=["model", "family", "parameters"])
    return reruns_of(differences, about.set_index("model"))
