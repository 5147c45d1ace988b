"""Compute the numbers of the prompt runs: how much of a score is the way of asking?"""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.words import CLEAR, LEVEL
from workflow_scripts.stats.shares import errors_above
from workflow_scripts.stats.significance import holm


def _runs(table: pd.DataFrame) -> Values:
    table = table[table["n"].notna()]  # the others broke
    if table.empty:
        return {}
    # A run of fewer questions compares with no other.
    whole = table[table["n"] == table["n"].max()]
    z = errors_above(*(whole[name] for name in ("micro", "micro_stderr", "floor", "n")))
    steps = table[table["p"].notna()].copy()
    steps["p"] = holm(steps["p"])
    changed = steps[steps["p"] < LEVEL]
    values = {
        "prompts.models": table["model"].nunique(),
        "prompts.runs": table["run"].nunique(),
        "prompts.questions": whole["n"].max(),
        "prompts.floor": whole["floor"].max(),
        "prompts.compared": len(whole),
        "prompts.clear": (z >= CLEAR).sum(),
        "prompts.steps": len(steps),
        "prompts.steps_changed": len(changed),
    }
    for column, low, high in (
        ("micro", "lowest", "highest"),
        ("format_met", "least_format", "most_format"),  # a run by log-likelihood has no outputs
    ):
        scores = whole[column].dropna()
        if len(scores):
            for name, index in ((low, scores.idxmin()), (high, scores.idxmax())):
                values[f"prompts.{name}"] = scores[index]
                values[f"prompts.{name}_run"] = whole.loc[index, "run"]
    if len(changed):
        most = changed.loc[changed["difference"].abs().idxmax()]
        values |= {
            "prompts.step": 100 * most["difference"],
            "prompts.step_run": most["run"],
            "prompts.step_after": most["after"],
            "prompts.step_what": most["changed"],
        }
    return values


PROMPTS = Study(
    key="prompts",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(("prompt_runs", _runs),),
)
