"""Compute the numbers of the chapter on prompt runs: how much a score depends on the prompt."""

import pandas as pd

from workflow_scripts.render.numbers import NumberFunctions, Values
from workflow_scripts.render.thresholds import MIN_CLEAR_Z
from workflow_scripts.stats.proportions import compute_baseline_z


def _compute_numbers(table: pd.DataFrame) -> Values:
    """Compute the range of accuracies over models and runs, and how many exceed the baseline."""
    table = table[table["n"].notna()]  # without failed runs
    if table.empty:
        return {}
    # A run on fewer questions is not comparable.
    complete = table[table["n"] == table["n"].max()].set_index("run")
    z = compute_baseline_z(*(complete[name] for name in ("micro", "micro_stderr", "baseline", "n")))
    return {
        "prompts.models": table["model"].nunique(),
        "prompts.runs": table["run"].nunique(),
        "prompts.questions": complete["n"].max(),
        "prompts.baseline": complete["baseline"].max(),
        "prompts.compared": len(complete),
        "prompts.clear": (z >= MIN_CLEAR_Z).sum(),
        "prompts.lowest": complete["micro"].min(),
        "prompts.lowest_run": complete["micro"].idxmin(),
        "prompts.highest": complete["micro"].max(),
        "prompts.highest_run": complete["micro"].idxmax(),
    }


NUMBER_FUNCTIONS: NumberFunctions = {
    "prompt_runs": _compute_numbers,
}
