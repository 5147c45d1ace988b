"""Compute the numbers that the report's text gives about the run and about the reproduction."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.verdict import (
    AGREES,
    BY_LUCK,
    DIFFERS,
    INCONCLUSIVE,
    JUDGED,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
)
from workflow_scripts.render.words import CLEAR, joined
from workflow_scripts.stats.variance import RELIABLE
from workflow_scripts.studies.harmony.published import SOURCE as LEADERBOARD

PROSE = Path(__file__).with_name("prose")


def compute_run_numbers(provenance: dict[str, Any]) -> Values:
    studies = pd.DataFrame(
        provenance["studies"].values(), columns=["records", "items", "tokens"]
    ).sum()
    seen = defaultdict(list, provenance["seen"])  # empty if there are no measurements
    return {
        "limit.clear": CLEAR,
        "limit.reliability": RELIABLE,
        "run.source": provenance["config"]["source"],
        **studies.add_prefix("run."),
        "run.models": len(provenance["models"]),
        "run.commits": len(seen["commits"]),
        "run.devices": joined(seen["devices"]) or "none",
        "run.broken": len(provenance["broken"]),
    }


def _count_verdicts(table: pd.DataFrame) -> Values:
    kinds = [*JUDGED, NOT_COMPARABLE, OTHER_PROTOCOL]
    verdicts = table["verdict"].value_counts().reindex(kinds, fill_value=0)
    reasons = table.loc[table["verdict"] == NOT_COMPARABLE, "because"].value_counts()
    return {
        "published.sources": table["source"].str.split("_").str[0].nunique(),
        "published.numbers": len(table),
        "published.panel_models": table.loc[table["source"] == LEADERBOARD, "of"].nunique(),
        "published.comparable": verdicts[list(JUDGED)].sum(),
        "published.agree": verdicts[AGREES],
        "published.differ": verdicts[DIFFERS],
        "published.inconclusive": verdicts[INCONCLUSIVE],
        "published.by_luck": table["z"].count() * BY_LUCK,
        "published.other": verdicts[OTHER_PROTOCOL],
        "published.refused": verdicts[NOT_COMPARABLE],
        "published.reasons": "; ".join(f"{reason} ({n:,})" for reason, n in reasons.items())
        or None,
    }


REPRODUCTION = Study(
    key="reproduction",
    prose=PROSE / "reproduction.md.j2",
    computed=(("reproduction", _count_verdicts),),
)
