"""Of each score how others get it: the command of a harness, or the sentence why none is the same."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from workflow_scripts.render.frames import Cells, columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.render.web.board import Row, Tab, Value
from workflow_scripts.scores.same_command import SameCommand, same_command
from workflow_scripts.scores.tidy import reported, whole_records
from workflow_scripts.settings.request import Nothing

COLUMNS = columns(
    ("text", "study model commit dtype protocol task"),
    ("whole", "shots seed"),
    ("text", "metric"),
    ("number", "value"),
    ("maybe", "command"),
    ("text", "said"),
)
# By tab of the leaderboard's page, the studies whose records are behind its rows.
_STUDIES = {
    "suite": ("suite",),
    "harmony": ("harmony",),
    "prompts": ("prompts",),
    "chunked": ("mmlu", "training", "chunking"),
}


def _make(inputs: Inputs, _: Nothing) -> pd.DataFrame:
    rows = []
    for path, record in whole_records(inputs["records"]):
        shown, found = reported(record), same_command(path, record)
        if shown:
            rows.append(
                {
                    "study": record.study,
                    "model": record.model.id,
                    "commit": record.model.commit,
                    "dtype": record.protocol.dtype,
                    "protocol": record.protocol.name,
                    "task": record.task.name,
                    "shots": record.task.shots,
                    "seed": record.protocol.seed,
                    "metric": shown.name,
                    "value": shown.value,
                    "command": found.command,
                    "said": found.said,
                }
            )
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _show(frame: pd.DataFrame, _: Nothing) -> ShownColumns:
    said = zip(frame["command"], frame["said"], strict=True)
    return {
        "study": frame["study"],
        "model": frame["model"],
        "task": frame["task"],
        "protocol": frame["protocol"].str.replace("_", "-"),
        "metric": frame["metric"],
        "score": numbers(frame["value"], ".4f"),
        "how to measure it again": [SameCommand(*one).line for one in said],
    }


def with_commands(tab: Tab, table: Sequence[Cells]) -> Tab:
    """A tab of the leaderboard's page whose rows say how each of their scores is measured again."""
    of_model: dict[Value, list[Cells]] = defaultdict(list)
    for one in table:
        if one["study"] in _STUDIES.get(tab.id, ()):
            of_model[one["model"]].append(one)
    field = "model" if tab.id == "prompts" else "name"
    rows = [
        replace(row, details=replace(row.details, commands=_commands(tab.id, row, found)))
        for row in tab.rows
        for found in [of_model[row.values[field]]]
    ]
    return replace(tab, rows=rows)


def _commands(tab: str, row: Row, of_model: Sequence[Cells]) -> list[dict[str, str]]:
    """What holds of several scores is said once."""
    values = row.values
    told_apart: dict[str, dict[str, Value]] = {
        "suite": {
            "dtype": values.get("precision"),
            "commit": values.get("commit"),
            "protocol": values.get("protocol"),
        },
        "prompts": {"task": values["name"]},
    }
    found: dict[str, list[str]] = {}
    for one in of_model:
        if told_apart.get(tab, {}).items() <= one.items():
            protocol = one["protocol"].replace("_", "-")
            of = f"{one['task']}, {protocol}, {one['metric']} {one['value']:.4g}"
            found.setdefault(SameCommand(one["command"], one["said"]).line, []).append(of)
    return [{"of": "; ".join(of), "line": line} for line, of in found.items()]


TABLE = Table(
    name="commands",
    title="How to measure each score again",
    note=(
        "The command of lm-eval or lighteval that measures the same, from the record; behind it the versions"
        " that it ran with and the commit of the data. Where no command is the same, a sentence says why."
    ),
    columns=COLUMNS,
    asks=Nothing,
    make=_make,
    show=_show,
)
