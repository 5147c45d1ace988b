"""The numbers of the suite: which submitted model leads, and by how sure a margin."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.suite.checks import LOST_FLAG

_SHORT = 17  # the longest protocol; of a commit enough to tell it from another


def _rows(table: pd.DataFrame) -> Values:
    return {
        "suite.rows": len(table),
        "suite.ranked": table["average"].count(),
        "suite.flagged": table["flag"].count(),
    }


def _lost(checks: pd.DataFrame) -> Values:
    return {"suite.lost_flags": (checks["check"] == LOST_FLAG).sum()}


def _leaders(table: pd.DataFrame) -> Values:
    ranked = table.dropna(subset=["average"]).sort_values("average", ascending=False, kind="stable")
    values: Values = {}
    for key, (_, row) in zip(("first", "second"), ranked.iterrows(), strict=False):
        values[f"suite.{key}"] = _named(row, ranked)
        values[f"suite.{key}_average"] = 100 * row["average"]
    if len(ranked) > 1:
        second = ranked.iloc[1]
        sure = second["behind_stderr"] > 0
        values["suite.lead"] = second["behind"] / second["behind_stderr"] if sure else None
    return values


def _named(row: pd.Series, ranked: pd.DataFrame) -> str:
    """A model may have several rows: then its name alone would say nothing."""
    same = ranked[ranked["model"] == row["model"]]
    told_apart_by = ("precision", "protocol", "commit")
    marks = [str(row[one])[:_SHORT] for one in told_apart_by if same[one].nunique() > 1]
    return f"{row['model']} ({', '.join(marks)})" if marks else str(row["model"])


SUITE = Study(
    key="suite",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("suite_leaderboard", _rows),
        ("suite_checks", _lost),
        ("suite_leaderboard", _leaders),
    ),
)
