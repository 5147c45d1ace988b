"""How far each row of the leaderboard lies behind the first, with the error of that difference."""

import numpy as np
import pandas as pd

from workflow_scripts.scores.influences import errors_by_row
from workflow_scripts.studies.suite.table_requests import SuiteTables

# What tells a row's scores apart, as their errors have them.
KEY = ["protocol", "study", "model", "variant", "dtype", "commit"]


def behind_first(
    ranked: pd.DataFrame, keys: pd.DataFrame, errors: pd.DataFrame, request: SuiteTables
) -> pd.DataFrame:
    """Columns behind and behind_stderr of rows in their order, the best first.

    All rows answered the same items, so that what moves both with another draw of them falls out. The
    error is unknown where a task is no mean over its items, or a row was imported without them.
    """
    behind = ranked["average"].iloc[0] - ranked["average"]
    variances = np.zeros(len(ranked))
    for one in request.tasks:
        of_task = errors[(errors["task"] == one.task) & (errors["metric"] == one.metric)]
        if of_task.empty:
            variances[:] = np.nan
            break
        index, items = errors_by_row(of_task, KEY)
        theirs = keys["study"] != "suite"  # whose protocol is told by the shots of each task
        asked = keys["protocol"].mask(theirs, "few_shot" if one.shots else "direct")
        at = index.get_indexer(pd.MultiIndex.from_frame(keys.assign(protocol=asked)[KEY]))
        of_rows, places = items.part(at), np.arange(len(ranked))
        of_task_variances = of_rows.of_difference(places, np.zeros_like(places))
        variances += np.where((at < 0) | (at[0] < 0), np.nan, of_task_variances)
    stderrs = np.sqrt(variances) / len(request.tasks)
    stderrs[0] = np.nan  # behind itself it is by nothing
    return pd.DataFrame({"behind": behind, "behind_stderr": stderrs}, ranked.index)
