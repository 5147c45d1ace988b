"""Compute the numbers of the chapter on the leaderboard: which submitted model leads, and how clearly."""

import pandas as pd

from workflow_scripts.render.numbers import NumberFunctions, Values


def _compute_numbers(table: pd.DataFrame) -> Values:
    """Name the first and the second model; `suite.lead` is their gap in standard errors."""
    values: Values = {
        "suite.rows": len(table),
        "suite.ranked": table["average"].count(),
        "suite.flagged": table["flag"].count(),
    }
    ranked = table.dropna(subset="average")  # best first
    for key, row in zip(("first", "second"), ranked.to_dict("records"), strict=False):
        values[f"suite.{key}"] = f"{row['model']} ({row['precision']})"
        values[f"suite.{key}_average"] = 100 * row["average"]
    if len(ranked) > 1 and ranked["behind_stderr"][1] > 0:
        values["suite.lead"] = ranked["behind"][1] / ranked["behind_stderr"][1]
    return values


NUMBER_FUNCTIONS: NumberFunctions = {
    "suite_leaderboard": _compute_numbers,
}
