"""What the leaderboard page shows: tabs of rows, each with the details that open for it.

Every text in here is untrusted (names, licences, notes, what a model wrote); the page shows it and
never runs it. Values are plain (str, int, float, bool, None), so that a board goes into JSON as it is.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Value = str | int | float | bool | None
# How a column is shown, sorted and filtered: a score is a share of one, shown in percent; a number is
# shown as it is; beside both stands their standard error where the row has `<field>_stderr`. A choice
# has few distinct values and gets a filter; a commit is shown by its first digits; flag shows the row's
# own, without a value here.
Kind = Literal["name", "text", "choice", "commit", "score", "number", "count", "flag"]


@dataclass(frozen=True)
class Column:
    field: str
    title: str
    kind: Kind
    help: str = ""  # a sentence, shown with the column's head
    shown: bool = True  # before the reader chooses
    digits: int | None = None
    ranged: bool = False  # gets a filter from-to, for a size
    icons: dict[str, str] | None = None  # by value of a choice, shown in its place


@dataclass(frozen=True)
class BoardItem:
    """One item of a task as the model saw and answered it."""

    task: str
    right: bool
    prompt: str
    answer: str
    gold: str


@dataclass(frozen=True)
class Details:
    """What opens for a row: facts by name, a small table of its tasks, how to measure them again, and some items."""

    facts: dict[str, Value] = field(default_factory=dict)
    tasks: list[dict[str, Value]] = field(default_factory=list)  # same keys in each, in their order
    percents: tuple[str, ...] = ()  # those of these keys whose numbers are shares, shown in percent
    items: list[BoardItem] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """`id` is unique in its tab and stands in the page's address; `values` are by column's field."""

    id: str
    values: dict[str, Value]
    flag: str | None = None  # why it was flagged by hand; the row stays, marked
    flag_link: str | None = None  # https only; anything else is shown as text
    notes: list[str] = field(default_factory=list)  # what the automatic checks found
    details: Details = field(default_factory=Details)


@dataclass(frozen=True)
class Tab:
    """`search` names the fields that the free search looks into; `license:` looks into `licence`."""

    id: str
    title: str
    about: str
    columns: list[Column]
    rows: list[Row]
    sort: str = ""  # a column's field; falling where it is a score
    # What stands above the rows for comparison: never counted, searched, filtered or downloaded.
    baselines: list[Row] = field(default_factory=list)
    rests_on: str = ""  # the works to cite beside the page itself, as BibTeX
    search: tuple[str, ...] = ("name",)


@dataclass(frozen=True)
class TextSection:
    """A heading, its paragraphs, a table with its head first, and lines to be copied."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    code: str = ""


@dataclass(frozen=True)
class TextTab:
    """A tab of text, which stands in the page as HTML and needs no script."""

    id: str
    title: str
    sections: list[TextSection]


@dataclass(frozen=True)
class Board:
    title: str
    about: str
    tabs: list[Tab]
    provenance: dict[str, str] = field(default_factory=dict)
    report: str | None = None  # the way to the report, from where the page lies
    texts: list[TextTab] = field(default_factory=list)


def read_tab(path: Path) -> Tab:
    """A tab that a step of its own has written, as `asdict` gives it, in JSON."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Tab(
        **data
        | {
            "columns": [Column(**column) for column in data["columns"]],
            **{
                part: [Row(**row | {"details": _details(row["details"])}) for row in data[part]]
                for part in ("rows", "baselines")
            },
            "search": tuple(data["search"]),
        }
    )


def _details(data: dict) -> Details:
    items = [BoardItem(**item) for item in data["items"]]
    return Details(**data | {"items": items, "percents": tuple(data.get("percents", ()))})
