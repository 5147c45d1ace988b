"""The numbers of the prompt runs: how much of a score is the way of asking?"""

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
    return {
        "prompts.models": table["model"].nunique(),
        "prompts.runs": table["run"].nunique(),
        "prompts.questions": whole["n"].max(),
        "prompts.floor": whole["floor"].max(),
        "prompts.compared": len(whole),
        "prompts.clear": (z >= CLEAR).sum(),
        "prompts.steps": len(steps),
        "prompts.steps_changed": len(changed),
        **_ends(whole, "micro", "lowest", "highest"),
        # A run by log-likelihood has no outputs.
        **_ends(whole.dropna(subset=["format_met"]), "format_met", "least_format", "most_format"),
        **_greatest(changed),
    }


def _ends(runs: pd.DataFrame, column: str, least: str, most: str) -> Values:
    if runs.empty:
        return {}
    low, high = runs.loc[runs[column].idxmin()], runs.loc[runs[column].idxmax()]
    return {
        f"prompts.{least}": low[column],
        f"prompts.{least}_run": low["run"],
        f"prompts.{most}": high[column],
        f"prompts.{most}_run": high["run"],
    }


def _greatest(changed: pd.DataFrame) -> Values:
    if changed.empty:
        return {}
    most = changed.loc[changed["difference"].abs().idxmax()]
    return {
        "prompts.step": 100 * most["difference"],
        "prompts.step_run": most["run"],
        "prompts.step_after": most["after"],
        "prompts.step_what": most["changed"],
    }


PROMPTS = Study(
    key="prompts",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(("prompt_runs", _runs),),
)
