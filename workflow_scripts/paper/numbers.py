"""Compute the numbers that the report's text gives about the run and about the reproduction."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.verdict import (
    BY_LUCK,
    JUDGED,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
)
from workflow_scripts.render.words import CLEAR, LEVEL, joined
from workflow_scripts.stats.variance import RELIABLE
from workflow_scripts.studies.harmony.published import SOURCE as LEADERBOARD

PROSE = Path(__file__).with_name("prose")


def compute_run_numbers(provenance: dict[str, Any]) -> Values:
    studies = provenance["studies"].values()
    seen = defaultdict(list, provenance["seen"])  # empty if there are no measurements

    def total(key: str) -> float:
        return sum(study[key] for study in studies)

    return {
        "limit.clear": CLEAR,
        "limit.level": LEVEL,
        "limit.reliability": RELIABLE,
        "run.source": provenance["config"]["source"],
        "run.studies": len(studies),
        "run.records": total("records"),
        "run.items": total("items"),
        "run.tokens": total("tokens"),
        "run.models": len(provenance["models"]),
        "run.commits": len(seen["commits"]),
        "run.hosts": len(seen["hosts"]),
        "run.devices": joined(seen["devices"]) or "none",
        "run.broken": len(provenance["broken"]),
    }


def _published(table: pd.DataFrame) -> Values:
    verdicts = table["verdict"].value_counts()
    agree, differ, is_open, refused, other = (
        int(verdicts.get(kind, 0)) for kind in (*JUDGED, NOT_COMPARABLE, OTHER_PROTOCOL)
    )
    values: Values = {
        "published.sources": table["source"].str.split("_").str[0].nunique(),
        "published.numbers": len(table),
        "published.panel_models": table.loc[table["source"] == LEADERBOARD, "of"].nunique(),
        "published.comparable": agree + differ + is_open,
        "published.inconclusive": is_open,
        "published.agree": agree,
        "published.differ": differ,
        "published.by_luck": table["z"].count() * BY_LUCK,
        "published.other": other,
        "published.refused": refused,
    }
    reasons = table.loc[table["verdict"] == NOT_COMPARABLE, "because"].value_counts()
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    texts = [f"{reason} ({times:,})" for reason, times in ordered]
    return values | {"published.reasons": "; ".join(texts) or None}


REPRODUCTION = Study(
    key="reproduction",
    prose=PROSE / "reproduction.md.j2",
    computed=(("reproduction", _published),),
)
