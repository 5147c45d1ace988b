"""Of each score how others get it: the command of a harness, or the sentence why none is the same."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.scores.same_command import SameCommand, same_command
from workflow_scripts.scores.tidy import reported, whole_records

_COLUMNS = ["study", "model", "commit", "dtype", "protocol", "task", "shots", "seed", "metric"]
_COLUMNS += ["value", "command", "said"]


def find_commands(records: list[Path]) -> pd.DataFrame:
    """Find the command that measures each record's score again, or why there is none."""
    rows = []
    for path, record in whole_records(records):
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
    return pd.DataFrame(rows, columns=_COLUMNS)


def _format_columns(frame: pd.DataFrame) -> ShownColumns:
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


NOTE = (
    "The command of lm-eval or lighteval that measures the same, from the record; behind it the versions"
    " that it ran with and the commit of the data. Where no command is the same, a sentence says why."
)


def main(records: list[Path], table: list[Path]) -> None:
    commands = find_commands(records)
    title = "How to measure each score again"
    write_table(commands, table, title=title, note=NOTE, shown=_format_columns(commands))


if "snakemake" in globals():
    run_job(main, snakemake)
