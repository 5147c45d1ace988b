"""The prompt runs in numbers and sentences: how much of a score is the way of asking?"""

from workflow_scripts.render import text
from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import (
    Number,
    Numbers,
    count,
    fixed,
    number,
    percent,
)
from workflow_scripts.render.words import CLEAR, LEVEL
from workflow_scripts.stats.significance import holm


def prompt_numbers(tables: Tables) -> list[Number]:
    table = tables.get("prompt_runs")
    if table is None:
        return []
    table = table[table["n"].notna()]  # the others broke
    if table.empty:
        return []
    # A run of fewer questions compares with no other.
    whole = table[table["n"] == table["n"].max()]
    low, high = whole.loc[whole["micro"].idxmin()], whole.loc[whole["micro"].idxmax()]
    z = (whole["micro"] - whole["floor"]) / whole["micro_stderr"].replace(0, float("nan"))
    steps = table[table["p"].notna()].copy()
    steps["p"] = holm(steps["p"])
    changed = steps[steps["p"] < LEVEL]
    found = [
        *number("prompts.models", table["model"].nunique(), count, "models asked"),
        *number("prompts.runs", table["run"].nunique(), count, "prompt runs"),
        *number("prompts.questions", whole["n"].max(), count, "questions of a run"),
        *number("prompts.floor", whole["floor"].max(), fixed(3), "the highest floor of a run"),
        *number("prompts.compared", len(whole), count, "runs of all questions, over all models"),
        *number("prompts.clear", int((z >= CLEAR).sum()), count, "of these, runs that clear it"),
        *number("prompts.steps", len(steps), count, "runs compared with the one before"),
        *number(
            "prompts.steps_changed", len(changed), count, "of these, runs that changed the score"
        ),
    ]
    for key, row in (("lowest", low), ("highest", high)):
        found += number(f"prompts.{key}", row["micro"], percent, f"{key} share of right answers")
        found += number(f"prompts.{key}_run", row["run"], str, f"the run with the {key} share")
    asked_for = whole.dropna(subset=["format_met"])  # a run by log-likelihood has no outputs
    if len(asked_for):
        for key, row in (
            ("least", asked_for.loc[asked_for["format_met"].idxmin()]),
            ("most", asked_for.loc[asked_for["format_met"].idxmax()]),
        ):
            about = f"the {key} outputs in the asked format that a run has"
            found += number(f"prompts.{key}_format", row["format_met"], percent, about)
            about = f"the run that has the {key} outputs in the asked format"
            found += number(f"prompts.{key}_format_run", row["run"], str, about)
    if len(changed):
        most = changed.loc[changed["difference"].abs().idxmax()]
        about = "the greatest significant change from a run to the next, in percentage points"
        points = 100 * most["difference"]
        found += number("prompts.step", points, lambda one: text.fixed(one, "+.1f"), about)
        found += number("prompts.step_run", most["run"], str, "the run with that change")
        found += number("prompts.step_after", most["after"], str, "the run it is compared with")
        found += number("prompts.step_what", most["changed"], str, "what that run does")
    return found


def tell_prompts(numbers: Numbers) -> list[str]:
    if "prompts.lowest" not in numbers:
        return []
    who = "one model" if numbers.value("prompts.models") == 1 else "{prompts.models} models"
    asked = (
        f"The same {{prompts.questions}} questions of MMLU, asked of {who} in {{prompts.runs}} ways, are"
        " answered right between {prompts.lowest} ({prompts.lowest_run}) and {prompts.highest}"
        " ({prompts.highest_run}) of the time."
    )
    if numbers.value("prompts.clear"):
        asked += (
            " Of {prompts.compared} runs, {prompts.clear} clear the floor of {prompts.floor} by"
            " {limit.clear} standard errors or more."
        )
    else:
        asked += (
            " No run clears the floor of {prompts.floor} by {limit.clear} standard errors, so that the"
            " differences between runs say nothing of what the model knows."
        )
    if "prompts.least_format" in numbers:
        asked += (
            " Of a run's outputs between {prompts.least_format} ({prompts.least_format_run}) and"
            " {prompts.most_format} ({prompts.most_format_run}) are in the asked format."
            if numbers.value("prompts.least_format") < numbers.value("prompts.most_format")
            else " Of each run's outputs {prompts.most_format} are in the asked format."
        )
    return [asked, _tell_steps(numbers)] if numbers.value("prompts.steps") else [asked]


def _tell_steps(numbers: Numbers) -> str:
    if "prompts.step" not in numbers:
        return (
            "Compared with the run before, none of {prompts.steps} changed significantly (McNemar’s test,"
            " Holm’s correction)."
        )
    return (
        "Compared with the run before, {prompts.steps_changed} of {prompts.steps} changed significantly"
        " (McNemar’s test, Holm’s correction). The greatest is {prompts.step} percentage points,"
        " of {prompts.step_run} ({prompts.step_what}) against {prompts.step_after}."
    )


PROMPTS = Study(
    key="prompts",
    title="How much of a score is the way of asking?",
    numbers=prompt_numbers,
    tell=tell_prompts,
)
