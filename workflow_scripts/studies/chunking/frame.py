"""The rows of the chunking and latency studies, a column for each of the numbers of one condition."""

import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED as UNCHANGED

_NOTHING = "-"  # stands in while rows are grouped: what is missing has no place in an index


def measured(scores: pd.DataFrame, protocol: str, *, varied: tuple[str, ...]) -> pd.DataFrame:
    """One row per model, task, plan and what was varied; a column per metric."""
    rows = scores[scores.protocol == protocol]
    if rows.empty:
        raise UserError(
            f"The scores hold no {protocol} of any plan; the rule measure_{protocol} makes them."
        )
    conditions = ["plan", *varied]
    rows = rows.assign(**rows[conditions].astype("string").fillna(_NOTHING))
    keys = ["model", "task", *conditions, "n"]
    values = rows.pivot(index=keys, columns="metric", values="value")
    errors = rows.dropna(subset="stderr").pivot(index=keys, columns="metric", values="stderr")
    wide = pd.concat([values, errors.add_suffix("_stderr")], axis=1).reset_index()
    wide[conditions] = wide[conditions].replace(_NOTHING, None).astype("string")
    return wide


def chunks_of(plan: str) -> int:
    """How many chunks a plan has: `k4m6-sequential` has 4; the unchanged model is one."""
    return max(1, int(plan[1 : plan.index("m")])) if plan.startswith("k") else 1


def layers_per_chunk(plan: str) -> int:
    return int(plan[plan.index("m") + 1 :].split("-")[0])


def left_out(plan: str) -> str:
    """`prune19-21-23` leaves out 19, 21, 23."""
    return plan.removeprefix("prune").replace("-", ", ")
