"""Is one model better than another? The answer in sentences, and in a table that says what would settle it."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.words import many
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import fixed, intervals, is_known, numbers, shown, with_errors
from workflow_scripts.render.words import LEVEL, joined
from workflow_scripts.studies.harmony.separate_requests import SeparateRequest
from workflow_scripts.studies.harmony.separate_rows import (
    COLUMNS,
    ITEMS,
    TASKS,
    TRAININGS,
    separate,
)
from workflow_scripts.studies.ranking.frame import OVERALL

QUESTIONS = {
    ITEMS: "other items of these tasks",
    TRAININGS: "other items and both trained again",
    TASKS: "other tasks of the kind",
}
NOTE = (
    "Difference: {first} minus {second}, the mean over the tasks that both have, in points of a hundred, with its"
    " standard error and 95% interval. Each row lets something else come out anew: the items of these tasks; the"
    " items and the training of both models; the tasks, of which these are taken for a sample (Student's t)."
    " Settled is a difference whose interval does not hold zero. First better: the probability that {first} is the"
    " better one, where no difference was likelier than another beforehand. Shows from: the"
    " smallest difference that a test at 5% shows with 80%. To settle it: how much"
    " would show a difference of the measured size so, and the hours that both models take with it, all in all,"
    " as `snakemake plan` reckons. A single task tells two models apart where p, corrected by Holm's method over"
    " the tasks, is below {level}; results/tables/separate.csv has each task."
)
_NAMED = 6  # tasks in a sentence, beyond which they are counted


def _note(table: pd.DataFrame, asked: SeparateRequest) -> str:
    """An answer for each protocol, on lines of their own, and what the columns mean."""
    parts = table.groupby(["scores", "protocol"], sort=False)
    answers = [" ".join(_answer(rows, asked)) for _, rows in parts]
    imports = {name: said for one in asked.grids for name, said in one.imports.items()}
    about = [f"{name}: {' '.join(said)}" for name, said in imports.items() if said]
    note = NOTE.format(first=asked.first, second=asked.second, level=LEVEL)
    return "\n\n".join([*answers, *about, note])


def _answer(rows: pd.DataFrame, asked: SeparateRequest) -> Iterator[str]:
    overall = rows[rows["task"] == OVERALL].set_index("question")
    questions: dict[str, Mapping[str, Any]] = overall.to_dict("index")
    of_items = questions[ITEMS]
    sign = 1 if of_items["difference"] >= 0 else -1
    better, other = asked.models[::sign]
    protocol, tasks = asked.protocols[rows["protocol"].iloc[0]], many(of_items["tasks"], "task")
    by = f"{_points(abs(of_items['difference']))} points"
    yield f"{protocol[0].upper()}{protocol[1:]} ({rows['scores'].iloc[0]}, {tasks}):"
    yield f"{better} is ahead of {other} by {by}."
    known = {of: one for of, one in questions.items() if is_known(one["probability"])}
    open_ = [of for of, one in known.items() if one["low"] <= 0 <= one["high"]]
    said = {
        of: f"{QUESTIONS[of]} ({_reach(one, sign)}, probability {_chance(one['probability'], sign)})"
        for of, one in known.items()
    }
    if settled := [words for of, words in said.items() if of not in open_]:
        yield f"Settled: it is the better one with {'; with '.join(settled)}."
    if open_:
        yield f"Not settled: whether it is with {'; with '.join(said[of] for of in open_)}."
        can = {of: math.isfinite(known[of]["needed"]) for of in open_}
        if takes := [_takes(of, known[of], asked) for of in open_ if can[of]]:
            yield f"To settle such a difference takes {'; '.join(takes)}."
        if TRAININGS in open_ and not can[TRAININGS]:
            yield "No number of trainings settles it, since the items alone leave too much."
    if ITEMS not in known:
        yield "How far other items would move the scores is not known."
    if TRAININGS in questions and TRAININGS not in known:
        yield "How far another training would move the scores is not known."
    yield _told_apart(rows[rows["task"] != OVERALL], {better: sign, other: -sign}, asked)


def _reach(one: Mapping[str, Any], sign: int) -> str:
    low, high = (_points(sign * one[end]) for end in ("low", "high")[::sign])
    return f"{low} to {high} points"


def _takes(question: str, one: Mapping[str, Any], asked: SeparateRequest) -> str:
    spent = f" ({one['hours']:,.1f} {asked.unit.split(' (')[0]})" if is_known(one["hours"]) else ""
    return f"{_needed(question, one['needed'])}{spent}"


def _told_apart(tasks: pd.DataFrame, models: Mapping[str, int], asked: SeparateRequest) -> str:
    """`models` are the better one and the other, with the sign of the differences that speak for it."""
    apart = tasks[tasks["p_holm"] < LEVEL].sort_values("z", key=abs, ascending=False)
    parts = []
    for model, sign in models.items():
        names = [asked.tasks.get(task, task) for task in apart["task"][sign * apart["z"] > 0]]
        if more := names[_NAMED:]:
            names = [*names[:_NAMED], f"{len(more)} more"]
        if names:
            parts.append(f"{model} is better on {joined(names)}")
    return f"Single tasks: {'; '.join(parts)}." if parts else "No single task tells them apart."


def _needed(question: str, needed: float) -> str:
    if not math.isfinite(needed):
        return f"no number of {question}"
    if question == ITEMS:
        return f"{_rounded(needed)} times as many items"
    return (
        f"{many(int(needed), 'training')} of each"
        if question == TRAININGS
        else many(int(needed), "task")
    )


def _rounded(times: float) -> str:
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}" if times >= 1 else f"{times:.2g}"


def _points(difference: float) -> str:
    points = 100 * difference
    return fixed(points, ".1f" if abs(points) >= 0.095 or not points else ".1g")


def _chance(p: float, sign: int = 1) -> str:
    p = 0.5 + sign * (p - 0.5)
    return "above 0.99" if p > 0.99 else "below 0.01" if p < 0.01 else f"{p:.2f}"


def _show(table: pd.DataFrame, asked: SeparateRequest) -> ShownColumns:
    table = table[table["task"] == OVERALL]
    points = {
        name: 100 * table[name] for name in ("difference", "stderr", "low", "high", "shows_from")
    }
    return {
        "Scores": table["scores"],
        "Protocol": table["protocol"].map(asked.protocols),
        "Come out anew": table["question"].map(QUESTIONS),
        "Tasks": numbers(table["tasks"], "d"),
        "Difference": with_errors(points["difference"], points["stderr"], _two_places),
        "95% interval": intervals(points["low"], points["high"], _two_places),
        "First better": shown(table["probability"], _chance),
        "Shows from": numbers(points["shows_from"], ".2f"),
        "To settle it": [
            _needed(*one) if is_known(one[1]) else None
            for one in zip(table["question"], table["needed"], strict=True)
        ],
        asked.unit: shown(table["hours"], "{:,.1f}".format),
    }


def _two_places(value: float) -> str:
    return fixed(value, ".2f")


TABLE = Table(
    name="separate",
    title=lambda asked: f"Is {asked.first} better than {asked.second}?",
    note=_note,
    columns=COLUMNS,
    asks=SeparateRequest,
    make=lambda inputs, asked: separate(asked),
    show=_show,
)


def write_separate(_: Inputs, request: dict[str, Any], __: Mapping[str, Path]) -> None:
    """Written whenever it is asked for: what there is to compare may have grown."""
    asked = SeparateRequest.of(request)
    files = {form: Path(f"results/tables/{TABLE.name}.{form}") for form in ("csv", "md", "tex")}
    TABLE.write(separate(asked), asked, **files)
