"""What an automatic look at the leaderboard finds: rows that are worth a look by a person."""

from collections import defaultdict
from pathlib import Path

import pandas as pd

from workflow_scripts.core.broken import is_broken
from workflow_scripts.core.errors import did_you_mean
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import read_items
from workflow_scripts.render.tables import write_table
from workflow_scripts.settings.requests import GENERATED
from workflow_scripts.studies.suite.leaderboard import marks
from workflow_scripts.studies.suite.requests import accepted

CLEAR = 2  # standard errors above the floor, from which on something was shown
SUSPICIOUS = 0.95
LOST_FLAG = "flag without a row"
TITLE = "What is worth a look on the leaderboard"
NOTE = (
    "Found by rules, and no judgement. At the floor: the score does not clear the better of a random"
    f" and a fixed answer by {CLEAR} standard errors. Above {SUSPICIOUS:.0%}: rare unless the test was"
    " in the training text. Missing: a task without a score. Fewer items: than others were asked."
    " Alike: the same answer as another model to every item of every task. A flag that marks no row"
    " stands last: its model, precision or commit is none that was accepted."
)
# A row is known by its request's file: one model may be there under two protocols.
COLUMNS = ("model", "precision", "commit", "protocol", "file", "check", "tasks", "detail")


def suite_checks(
    table: pd.DataFrame,
    checks: list[dict],
    tasks: list[dict],
    flags: list[dict] = (),
    source: str = "huggingface",
) -> pd.DataFrame:
    """One row per finding, in the order of the leaderboard; `table` is the leaderboard.

    Flags that mark no row come last. A flag of a model of another source than the config's is none of
    them: one file serves both.
    """
    alike = _alike(checks, tasks)
    most = {task["task"]: table[f"{task['task']}_n"].max() for task in tasks}
    found = []
    for _, row in table.iterrows():
        facts = {key: row[key] for key in COLUMNS[:5]}
        for check, names, detail in (
            *_of_scores(row, tasks, most),
            *((("alike", "", alike[row["file"]]),) if row["file"] in alike else ()),
        ):
            found.append({**facts, "check": check, "tasks": names, "detail": detail})
    for flag in flags:
        of_this_source = flag["model"].startswith(GENERATED) == (source == "miniature")
        if of_this_source and not any(marks(flag, entry) for entry in accepted(checks)):
            found.append(
                {
                    "model": flag["model"],
                    "precision": flag["precision"],
                    "commit": flag["revision"],
                    "check": LOST_FLAG,
                    "detail": _why_lost(flag, checks),
                }
            )
    return pd.DataFrame(found, columns=list(COLUMNS))


def _why_lost(flag: dict, checks: list[dict]) -> str:
    rows = [one for one in accepted(checks) if one["request"]["name"] == flag["model"]]
    if rows:
        there = ", ".join(f"{one['request']['precision']} at {one['commit'][:7]}" for one in rows)
        return f"Its flag marks no row: the model is there in {there}."
    names = {one["request"]["name"] for one in checks if one["request"]}
    if flag["model"] in names:
        return "Its flag marks no row: no request for this model was accepted."
    near = did_you_mean(flag["model"], sorted(names))
    return f"Its flag marks no row: no request names this model.{near}"


def _of_scores(row: pd.Series, tasks: list[dict], most: dict[str, float]):
    titles = {task["task"]: task["title"] for task in tasks}

    def said(names: list[str], sentence: str) -> tuple[str, str]:
        return " ".join(names), sentence.format(", ".join(titles[name] for name in names))

    measured = [name for name in titles if pd.notna(row[name])]
    floored = [name for name in measured if not _clears(row, name)]
    if floored:
        yield "at the floor", *said(floored, "At the floor: {}.")
    if high := [name for name in measured if row[name] > SUSPICIOUS]:
        yield f"above {SUSPICIOUS:.0%}", *said(high, f"Above {SUSPICIOUS:.0%}: {{}}.")
    if missing := [name for name in titles if name not in measured]:
        yield "missing", *said(missing, "Missing: {}.")
    if fewer := [name for name in measured if row[f"{name}_n"] < most[name]]:
        yield "fewer items", *said(fewer, "On fewer items than others: {}.")


def _clears(row: pd.Series, name: str) -> bool:
    """A task without a floor has none to clear."""
    floor, error = row[f"{name}_floor"], row[f"{name}_stderr"]
    return pd.isna(floor) or row[name] > floor + CLEAR * (0.0 if pd.isna(error) else error)


def _alike(checks: list[dict], tasks: list[dict]) -> dict[str, str]:
    """By request: which other models gave every answer that it gave.

    A model's own precisions and protocols are no copies of it.
    """
    same = defaultdict(list)
    for entry in accepted(checks):
        whole = set(entry["records"]) == {task["task"] for task in tasks}
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
    """Of all predictions; None where some are missing."""
    answers = []
    for task in sorted(entry["records"]):
        record = Path(entry["records"][task])
        if not record.is_file() or is_broken(record):
            return None
        items = read_items(record.with_suffix(".parquet"))
        predictions = items.column("prediction").to_pylist()
        answers.append([task, items.column("item").to_pylist(), predictions])
    return sha256_json(answers)


def write_suite_checks(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    def show(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "Model": frame["model"],
                "Precision": frame["precision"],
                "Commit": frame["commit"].astype("string").str[:7],
                "Protocol": frame["protocol"].astype("string").str.replace("_", "-"),
                "Found": frame["detail"],
            }
        )

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)
