"""The numbers of the suite: which submitted model leads, and by how sure a margin."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.suite.checks import LOST_FLAG


def _count_lost_flags(checks: pd.DataFrame) -> Values:
    return {"suite.lost_flags": (checks["check"] == LOST_FLAG).sum()}


def _describe_rows(table: pd.DataFrame) -> Values:
    values: Values = {
        "suite.rows": len(table),
        "suite.ranked": table["average"].count(),
        "suite.flagged": table["flag"].count(),
    }
    ranked = table.dropna(subset=["average"]).sort_values("average", ascending=False, kind="stable")
    for key, (_, row) in zip(("first", "second"), ranked.iterrows(), strict=False):
        values[f"suite.{key}"] = f"{row['model']} ({row['precision']})"
        values[f"suite.{key}_average"] = 100 * row["average"]
    if len(ranked) > 1 and ranked["behind_stderr"].iloc[1] > 0:
        values["suite.lead"] = ranked["behind"].iloc[1] / ranked["behind_stderr"].iloc[1]
    return values


SUITE = Study(
    key="suite",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(("suite_checks", _count_lost_flags), ("suite_leaderboard", _describe_rows)),
)
