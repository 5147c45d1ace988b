"""What an automatic look at the leaderboard finds: rows that are worth a look by a person."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.core.errors import did_you_mean
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Broken, read_record
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.settings.flags import Flag
from workflow_scripts.settings.requests import GENERATED
from workflow_scripts.stats.shares import errors_above
from workflow_scripts.studies.suite import leaderboard
from workflow_scripts.studies.suite.requests import accepted
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteTables

SUSPICIOUS = 0.95
LOST_FLAG = "flag without a row"
NOTE = (
    "Found by rules, and no judgement. At the floor: the score does not clear the better of a random"
    f" and a fixed answer by {CLEAR} standard errors. Above {SUSPICIOUS:.0%}: rare unless the test was"
    " in the training text. Missing: a task without a score. Fewer items: than others were asked."
    " Alike: the same answer as another model to every item of every task. A flag that marks no row"
    " stands last: its model, precision or commit is none that was accepted."
)
# A row is known by its request's file: one model may be there under two protocols.
_OF_ROW = ("model", "precision", "commit", "protocol", "file")
COLUMNS = Columns(
    {
        **{"model": "text", **dict.fromkeys(_OF_ROW[1:], "maybe")},
        **{"check": "text", "tasks": "maybe", "detail": "text"},
    }
)


def suite_checks(table: pd.DataFrame, checks: list[dict], request: SuiteTables) -> pd.DataFrame:
    """One row per finding, in the order of the leaderboard; `table` is the leaderboard.

    Flags that mark no row come last. A flag of a model of another source than the config's is none of
    them: one file serves both.
    """
    alike = _alike(checks, request.tasks)
    most = {one.task: table[f"{one.task}_n"].max() for one in request.tasks}
    found = []
    for _, row in table.iterrows():
        facts = {key: row[key] for key in _OF_ROW}
        for check, names, detail in (
            *_of_scores(row, request.tasks, most),
            *((("alike", "", alike[row["file"]]),) if row["file"] in alike else ()),
        ):
            found.append({**facts, "check": check, "tasks": names, "detail": detail})
    for flag in request.flags:
        of_this_source = flag.model.startswith(GENERATED) == (request.source == "miniature")
        if of_this_source and not any(leaderboard.marks(flag, entry) for entry in accepted(checks)):
            found.append(
                {
                    "model": flag.model,
                    "precision": flag.precision,
                    "commit": flag.revision,
                    "check": LOST_FLAG,
                    "detail": _why_lost(flag, checks),
                }
            )
    return pd.DataFrame(found, columns=list(COLUMNS.named))


def _why_lost(flag: Flag, checks: list[dict]) -> str:
    rows = [one for one in accepted(checks) if one["request"]["name"] == flag.model]
    if rows:
        there = ", ".join(f"{one['request']['precision']} at {one['commit'][:7]}" for one in rows)
        return f"Its flag marks no row: the model is there in {there}."
    names = {one["request"]["name"] for one in checks if one["request"]}
    if flag.model in names:
        return "Its flag marks no row: no request for this model was accepted."
    near = did_you_mean(flag.model, sorted(names))
    return f"Its flag marks no row: no request names this model.{near}"


def _of_scores(
    row: pd.Series, tasks: Sequence[ShownTask], most: dict[str, float]
) -> Iterator[tuple[str, str, str]]:
    titles = {one.task: one.title for one in tasks}

    def said(names: list[str], sentence: str) -> tuple[str, str]:
        return " ".join(names), sentence.format(", ".join(titles[name] for name in names))

    measured = [name for name in titles if pd.notna(row[name])]
    floored = [one.task for one in tasks if one.task in measured and not _clears(row, one)]
    if floored:
        yield "at the floor", *said(floored, "At the floor: {}.")
    if high := [name for name in measured if row[name] > SUSPICIOUS]:
        yield f"above {SUSPICIOUS:.0%}", *said(high, f"Above {SUSPICIOUS:.0%}: {{}}.")
    if missing := [name for name in titles if name not in measured]:
        yield "missing", *said(missing, "Missing: {}.")
    counted = [
        name for name in measured if pd.notna(row[f"{name}_n"])
    ]  # not all imported scores are
    if fewer := [name for name in counted if row[f"{name}_n"] < most[name]]:
        yield "fewer items", *said(fewer, "On fewer items than others: {}.")


def _clears(row: pd.Series, task: ShownTask) -> bool:
    """A task without a floor has none to clear."""
    parts = [f"{task.task}{part}" for part in ("", "_stderr", "_floor", "_n")]
    value, error, floor, n = row[parts].astype("Float64").astype(float)
    above = errors_above(value, error, floor, n, lowest_of(pd.Series([task.metric]))[0])
    return pd.isna(floor) or bool(above >= CLEAR)


def _alike(checks: list[dict], tasks: Sequence[ShownTask]) -> dict[str, str]:
    """By request: which other models gave every answer that it gave.

    A model's own precisions and protocols are no copies of it.
    """
    same = defaultdict(list)
    for entry in accepted(checks):
        whole = set(entry["records"]) == {one.task for one in tasks}
        if whole and (digest := _digest(entry)):
            same[digest].append(entry)
    found = {}
    for entries in same.values():
        for entry in entries:
            name = entry["request"]["name"]
            others = sorted({one["request"]["name"] for one in entries} - {name})
            if others:
                found[entry["file"]] = f"Answers every item as {', '.join(others)} does."
    return found


def _digest(entry: dict) -> str | None:
    """The digest of all predictions; None where some are missing or broken."""
    answers = []
    for task, path in sorted(entry["records"].items()):
        record = Path(path)
        if not record.is_file() or isinstance(read_record(record), Broken):
            return None
        items = read_items(record.with_suffix(".parquet"))
        predictions = items.column("prediction").to_pylist()
        answers.append([task, items.column("item").to_pylist(), predictions])
    return sha256_json(answers)


def _make(inputs: Inputs, request: SuiteTables) -> pd.DataFrame:
    board = leaderboard.TABLE.read(inputs.one("leaderboard"))
    return suite_checks(board, leaderboard.read_entries(inputs, request), request)


def _show(frame: pd.DataFrame, _: SuiteTables) -> ShownColumns:
    return {
        "Model": frame["model"],
        "Precision": frame["precision"],
        "Commit": frame["commit"].astype("string").str[:7],
        "Protocol": frame["protocol"].astype("string").str.replace("_", "-"),
        "Found": frame["detail"],
    }


TABLE = Table(
    name="suite_checks",
    title="What is worth a look on the leaderboard",
    note=NOTE,
    columns=COLUMNS,
    asks=SuiteTables,
    make=_make,
    show=_show,
)
