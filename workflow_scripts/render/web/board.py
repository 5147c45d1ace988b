"""Render the leaderboard page: one HTML file that needs no network, with a Tabulator table in each tab.

Every text in a row is untrusted (names, licences, notes). The rows are embedded as JSON and become text
nodes. As a second defence, the Content-Security-Policy allows only the page's own scripts, by digest, and no
requests, and Trusted Types prevent text from becoming HTML.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow_scripts.render.frames import Row
from workflow_scripts.render.web.policy import build_policy

HERE = Path(__file__).parent
Kind = Literal["name", "text", "choice", "commit", "score", "number", "count", "flag"]

_TEXT = {"formatter": "text", "sorter": "alphanum", "headerFilter": "input"}
_NUMBER = {
    "formatter": "number",
    "sorter": "number",
    "hozAlign": "right",
    "headerHozAlign": "right",
    "headerSortStartingDir": "desc",
    "headerFilter": "input",
    "headerFilterFunc": "bound",
    "headerFilterPlaceholder": "> <",
}
# Tabulator's column options by kind. The formatters are in leaderboard.js; the number formatter takes the
# options of JavaScript's Intl.NumberFormat.
_COLUMN_OPTIONS: dict[Kind, dict[str, Any]] = {
    "name": _TEXT | {"formatter": "name", "frozen": True, "minWidth": 160, "maxWidth": 460},
    "text": _TEXT | {"maxWidth": 320},
    "commit": _TEXT | {"formatter": "commit"},
    "flag": _TEXT | {"formatter": "flag", "maxWidth": 320, "download": True},
    "choice": _TEXT
    | {
        "headerFilter": "list",
        "headerFilterFunc": "=",
        "headerFilterParams": {"valuesLookup": True, "clearable": True},
        "headerFilterPlaceholder": "any",
    },
    "score": _NUMBER
    | {"formatterParams": {"minimumFractionDigits": 1, "maximumFractionDigits": 1}},
    "number": _NUMBER,
    "count": _NUMBER | {"formatterParams": {"notation": "compact", "maximumSignificantDigits": 3}},
}


@dataclass(frozen=True)
class Column:
    """A column of a tab; scores are fractions in the rows and percentages on the page."""

    field: str
    title: str
    kind: Kind
    help: str = ""
    shown: bool = True


@dataclass(frozen=True)
class Tab:
    """A tab of the page; a row has values by field, with standard errors as `<field>_stderr`.

    Rows with `is_baseline` always stay at the top when the table is sorted, searched, filtered or downloaded.
    """

    id: str
    title: str
    about: str
    columns: list[Column]
    rows: list[Row]
    sort: str = ""
    search: tuple[str, ...] = ("name",)


def render_board(title: str, about: str, tabs: list[Tab], texts: dict[str, Markup]) -> str:
    """Render the page; `texts` are additional tabs, HTML by title. Equal arguments give equal bytes."""
    library = _read_text("vendor/tabulator/tabulator.min.js")
    styles = ("vendor/tabulator/tabulator_simple.min.css", "colours.css", "leaderboard.css")
    style = "\n".join(map(_read_text, styles))
    script = _read_text("leaderboard.js")
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "ensure_ascii": False}
    return environment.get_template("leaderboard.html.j2").render(
        policy=build_policy([library, script], [style], trusted="default"),
        title=title,
        about=about,
        tabs=[_describe_tab(tab) for tab in tabs],
        texts=texts,
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
    )


def _read_text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _describe_tab(tab: Tab) -> dict[str, Any]:
    """Return the fields of a tab as leaderboard.js reads them: Tabulator's columns, and percentages in the rows."""
    fields = {field for row in tab.rows for field in row}
    percents = set()
    definitions = []
    for column in tab.columns:
        error = f"{column.field}_stderr"
        if column.kind == "score":
            percents |= {column.field, error}
        definitions.append(
            {
                "field": column.field,
                "title": column.title,
                "titleFormatterParams": {"help": column.help},
                "visible": column.shown,
                "sorterParams": {"alignEmptyValues": "bottom"},
                **_COLUMN_OPTIONS[column.kind],
            }
        )
        if error in fields:
            title = f"{column.title} stderr"
            definitions.append({"field": error, "title": title, "visible": False, "download": True})
    rows = [
        {
            field: round(100 * value, 10) if field in percents and value is not None else value
            for field, value in row.items()
        }
        for row in tab.rows
    ]
    direction = "desc" if tab.sort in percents else "asc"
    sort = [{"column": tab.sort, "dir": direction}] if tab.sort else []
    return vars(tab) | {"columns": definitions, "rows": rows, "sort": sort}
