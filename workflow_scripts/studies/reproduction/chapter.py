"""Count the verdicts on published numbers."""

import pandas as pd

from workflow_scripts.render.numbers import NumberFunctions, Values
from workflow_scripts.render.verdict import (
    AGREES,
    COMPARABLE_VERDICTS,
    DIFFERS,
    INCONCLUSIVE,
    MAX_FALSE_ALARM_RATE,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
)


def _count_verdicts(table: pd.DataFrame) -> Values:
    """Count the numbers by verdict, and the reasons why some are not comparable."""
    counts = table["verdict"].value_counts()
    reasons = table.loc[table["verdict"] == NOT_COMPARABLE, "because"].value_counts()
    return {
        "published.sources": table["source"].str.split("_").str[0].nunique(),
        "published.numbers": len(table),
        "published.comparable": table["verdict"].isin(COMPARABLE_VERDICTS).sum(),
        "published.agree": counts.get(AGREES, 0),
        "published.differ": counts.get(DIFFERS, 0),
        "published.inconclusive": counts.get(INCONCLUSIVE, 0),
        "published.by_luck": table["z"].count() * MAX_FALSE_ALARM_RATE,
        "published.other": counts.get(OTHER_PROTOCOL, 0),
        "published.refused": counts.get(NOT_COMPARABLE, 0),
        "published.reasons": "; ".join(f"{reason} ({n:,})" for reason, n in reasons.items())
        or None,
    }


NUMBER_FUNCTIONS: NumberFunctions = {"reproduction": _count_verdicts}
