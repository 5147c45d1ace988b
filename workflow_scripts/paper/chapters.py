"""What a page and a paper show: chapters of paragraphs, figures and tables, read from the results."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.paper.studies import STUDIES, tell
from workflow_scripts.paper.tables import table_of
from workflow_scripts.render.numbers import Numbers
from workflow_scripts.render.tables import ShownTable
from workflow_scripts.settings.paper import ToldTable


@dataclass(frozen=True)
class Figure:
    name: str
    caption: str
    png: Path
    pdf: Path


@dataclass(frozen=True)
class Table:
    name: str
    shown: ShownTable
    csv: Path
    tex: Path


@dataclass(frozen=True)
class Chapter:
    key: str
    title: str
    paragraphs: list[str]  # each number by its name in braces
    figures: list[Figure]
    tables: list[Table]


def chapters(
    numbers: Numbers,
    tables: list[Path],
    figures: list[Path],
    captions: list[Path],
    described: Mapping[str, ToldTable],
) -> tuple[list[Chapter], list[str]]:
    """The chapters there is something for, and the titles of those there is nothing for.

    `tables` and `figures` are of every kind that the config has made; a table or figure that no study
    claims stands in a chapter of its own, so that nothing made is lost.
    """
    captioned = {path.stem: path for path in captions}
    made_tables = {path.stem: path for path in tables}
    made_figures = {path.stem: path for path in figures}
    claimed: set[str] = set()
    found: list[Chapter] = []
    absent = []
    for study in STUDIES:
        chapter = Chapter(
            study.key,
            study.title,
            tell(study.prose, numbers),
            [
                _figure(made_figures[name], captioned)
                for name in _of(study.key, study.figures, made_figures)
            ],
            [
                _table(made_tables[name], described[name])
                for name in _of(study.key, study.tables, made_tables)
            ],
        )
        claimed |= {figure.name for figure in chapter.figures}
        claimed |= {table.name for table in chapter.tables}
        if chapter.paragraphs or chapter.figures or chapter.tables:
            found.append(chapter)
        else:
            absent.append(study.title)
    other_figures = [
        _figure(made_figures[name], captioned) for name in sorted(set(made_figures) - claimed)
    ]
    other_tables = [
        _table(made_tables[name], described[name]) for name in sorted(set(made_tables) - claimed)
    ]
    if other_figures or other_tables:
        found.append(Chapter("more", "More tables and figures", [], other_figures, other_tables))
    return found, absent


def _of(key: str, wanted: tuple[str, ...], made: dict[str, Path]) -> list[str]:
    """Those that the study names, in its order, and then all else that bears its name."""
    others = sorted(name for name in made if name.startswith(f"{key}_") and name not in wanted)
    return [*(name for name in wanted if name in made), *others]


def _figure(path: Path, captions: dict[str, Path]) -> Figure:
    text = path.stem.replace("_", " ")
    if path.stem in captions:
        text = " ".join(captions[path.stem].read_text(encoding="utf-8").split())
    return Figure(path.stem, text, path.with_suffix(".png"), path.with_suffix(".pdf"))


def _table(path: Path, described: ToldTable) -> Table:
    table = table_of(described.table)
    shown = table.shown(table.read(path), table.asks.of(described.request))
    return Table(path.stem, shown, path, path.with_suffix(".tex"))


def read_sources(path: Path) -> list[dict[str, Any]]:
    """Where the published numbers are from."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
