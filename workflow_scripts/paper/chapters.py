"""What a page and a paper show: chapters of paragraphs, figures and tables, read from the results."""

import csv
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.paper.requests import Report, ToldFigure, ToldTable
from workflow_scripts.paper.studies import STUDIES, tell
from workflow_scripts.paper.tables import table_of
from workflow_scripts.render.numbers import Numbers
from workflow_scripts.render.tables import ShownTable


@dataclass(frozen=True)
class ChapterFigure:
    name: str
    caption: str
    png: Path
    pdf: Path


@dataclass(frozen=True)
class ChapterTable:
    name: str
    shown: ShownTable
    csv: Path
    tex: Path


@dataclass(frozen=True)
class Chapter:
    key: str
    title: str
    paragraphs: list[str]  # each number by its name in braces
    figures: list[ChapterFigure]
    tables: list[ChapterTable]


def chapters(
    numbers: Numbers, tables: list[Path], figures: list[Path], told: Report
) -> tuple[list[Chapter], list[str]]:
    """The chapters there is something for, and the titles of those there is nothing for.

    `tables` and `figures` are of every kind that the config has made; what is declared for no chapter of
    these stands in one of its own, so that nothing made is lost.
    """
    made_tables = {path.stem: path for path in tables}
    made_figures = {path.stem: path for path in figures}

    def chapter(keys: Container[str], key: str, title: str, paragraphs: list[str]) -> Chapter:
        shown = [
            _figure(made_figures[name], of)
            for name, of in told.figures.items()
            if of.chapter in keys
        ]
        given = [
            _table(made_tables[name], of) for name, of in told.tables.items() if of.chapter in keys
        ]
        return Chapter(key, title, paragraphs, shown, given)

    of_studies = [
        chapter({one.key}, one.key, one.title, tell(one.prose, numbers)) for one in STUDIES
    ]
    declared = {one.chapter for one in told.tables.values()}
    declared |= {one.chapter for one in told.figures.values()}
    others = declared - {one.key for one in STUDIES}
    more = chapter(others, "more", "More tables and figures", [])
    found = [one for one in (*of_studies, more) if one.paragraphs or one.figures or one.tables]
    return found, [one.title for one in of_studies if one not in found]


def _figure(path: Path, told: ToldFigure) -> ChapterFigure:
    return ChapterFigure(
        path.stem, told.caption, path.with_suffix(".png"), path.with_suffix(".pdf")
    )


def _table(path: Path, described: ToldTable) -> ChapterTable:
    table = table_of(described.table)
    shown = table.shown(table.read(path), table.asks.of(described.request))
    return ChapterTable(path.stem, shown, path, path.with_suffix(".tex"))


def read_sources(path: Path) -> list[dict[str, Any]]:
    """Where the published numbers are from."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
