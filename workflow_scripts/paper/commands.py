"""Of each score how others get it: the command of a harness, or the sentence why none is the same."""

import pandas as pd

from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
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
