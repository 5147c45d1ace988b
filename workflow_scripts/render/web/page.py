"""The leaderboard page: one HTML file that needs no network, made from a Board.

The data stand in the page as JSON, and scripts show them as text. Should one slip, two locks hold:
the Content-Security-Policy names the scripts and styles of this page by their digest and allows no
others, and no request to anywhere; and it demands Trusted Types, so that nothing but safe_html.js
can turn text into HTML.
"""

import json
import re
from pathlib import Path
from string import Template
from typing import Any

from workflow_scripts.core.clean_text import for_html, plain_values
from workflow_scripts.core.errors import UserError
from workflow_scripts.render.web.board import Board, Row, Tab, TextSection, TextTab
from workflow_scripts.render.web.policy import policy

HERE = Path(__file__).parent
LIBRARY = HERE / "vendor/tabulator"
# In one scope, in this order.
SCRIPTS = (
    *("safe_html", "elements", "values", "search", "sorting", "filters", "state"),
    *("csv", "citing", "details", "table", "controls", "main"),
)
# What could end a script element or begin a comment in it, and line ends that old scripts know.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_SOURCE_MAP = re.compile(r"\n?(//# sourceMappingURL=.*|/\*# sourceMappingURL=.*?\*/)\s*$")


def leaderboard_page(board: Board) -> str:
    """The whole page; the same board gives the same bytes."""
    library, style = (
        _SOURCE_MAP.sub("", (LIBRARY / name).read_text(encoding="utf-8"))
        for name in ("tabulator.min.js", "tabulator_simple.min.css")
    )
    for name in ("colours.css", "style.css"):
        style += "\n" + (HERE / name).read_text(encoding="utf-8")
    script = _scripts()
    return Template((HERE / "template.html").read_text(encoding="utf-8")).substitute(
        policy=policy([library, script], [style], trusted="default"),
        title=for_html(board.title),
        about=for_html(board.about),
        tabs="\n".join(_described(tab) for tab in board.tabs),
        texts="\n".join(map(_text, board.texts)),
        report=_link(board.report),
        style=style,
        library=library,
        script=script,
        board=_data("board", _board(board)),
        details="\n".join(_details(at, tab) for at, tab in enumerate(board.tabs)),
    )


def _scripts() -> str:
    parts = ((HERE / f"scripts/{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();"


def _link(report: str | None) -> str:
    return f'<p><a href="{for_html(report)}">The report</a></p>' if report else ""


def _described(tab: Tab) -> str:
    """What a reader without scripts has of a table."""
    return f"<h2>{for_html(tab.title)}</h2>\n<p>{for_html(tab.about)}</p>"


def _text(text: TextTab) -> str:
    sections = "\n".join(map(_section, text.sections))
    title = f'<h2 id="title-{text.id}">{for_html(text.title)}</h2>'
    role = f'role="tabpanel" tabindex="0" aria-labelledby="title-{text.id}"'
    return f'<section class="text" id="text-{text.id}" {role}>\n{title}\n{sections}\n</section>'


def _section(section: TextSection) -> str:
    parts = [f"<h3>{for_html(section.title)}</h3>"]
    parts += [f"<p>{for_html(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.table:
        head, *rows = section.table
        lines = [f"<thead>{_line('th', head)}</thead>", *(_line("td", row) for row in rows)]
        parts.append(f'<div class="scroll"><table>{"".join(lines)}</table></div>')
    if section.code:
        parts.append(f"<pre>{for_html(section.code)}</pre>")
    return "\n".join(parts)


def _line(tag: str, cells: list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{for_html(cell)}</{tag}>' for cell in cells)}</tr>"


def _data(name: str, lines: str) -> str:
    return f'<script type="application/json" id="{name}">{lines}</script>'


def _json(value: Any, where: str) -> str:
    try:
        text = json.dumps(
            plain_values(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except ValueError as error:
        raise UserError(
            f"{where} holds a number that is not finite; where there is none, write None."
        ) from error
    return text.translate(_ESCAPES)


def _board(board: Board) -> str:
    return _json(
        {
            "title": board.title,
            "provenance": board.provenance,
            "tabs": [_tab(tab) for tab in board.tabs],
            "texts": [{"id": text.id, "title": text.title} for text in board.texts],
        },
        "The leaderboard",
    )


def _tab(tab: Tab) -> dict:
    # Rows as lists, with the names of their fields once: half the size.
    every = [*tab.rows, *tab.baselines]
    fields = list(dict.fromkeys(field for row in every for field in row.values))
    if len({row.id for row in every if row.id}) != len(every):
        raise UserError(f"Two rows of the tab {tab.id} have one id, or a row has none.")
    return {
        "id": tab.id,
        "title": tab.title,
        "about": tab.about,
        "columns": [vars(column) for column in tab.columns],
        "sort": tab.sort,
        "search": list(tab.search),
        "restsOn": tab.rests_on,
        "fields": fields,
        "rows": [_row(row, fields) for row in tab.rows],
        "baselines": [_row(row, fields) for row in tab.baselines],
    }


def _row(row: Row, fields: list[str]) -> list:
    values = [row.values.get(field) for field in fields]
    return [row.id, row.flag, row.flag_link, row.notes, values]


def _rows(table: list[dict[str, Any]]) -> list[list]:
    """Its head, then its rows: a name stands there once, not in every row."""
    return [list(table[0]), *(list(row.values()) for row in table)] if table else []


def _details(at: int, tab: Tab) -> str:
    """A line a row, baselines last, so that opening one reads only its own."""
    lines = [
        _json(
            {
                "facts": row.details.facts,
                "tasks": _rows(row.details.tasks),
                "percents": row.details.percents,
                "items": [vars(item) for item in row.details.items],
            },
            f"The row {row.id} of the tab {tab.id}",
        )
        for row in (*tab.rows, *tab.baselines)
    ]
    return _data(f"details-{at}", "\n".join(lines))
