"""What a page and a paper show: chapters of paragraphs, figures and tables, read from the results."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.paper.studies import STUDIES, tell
from workflow_scripts.render.numbers import Numbers
from workflow_scripts.render.tables import ShownTable, read_markdown


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


def read_chapters(
    numbers: Numbers, files: Mapping[str, Sequence[Path]], captions: Mapping[str, str]
) -> tuple[list[Chapter], list[str]]:
    """Read the chapters there is something for, and list the titles of those there is nothing for.

    `files` has the Markdown tables and the PNG figures of each chapter, `captions` the caption of each figure.
    """
    chapters = [
        Chapter(
            study.key,
            study.title,
            tell(study.prose, numbers),
            *_read_files(files.get(study.key, []), captions),
        )
        for study in STUDIES
    ]
    absent = [one.title for one in chapters if not _has_content(one)]
    keys = {study.key for study in STUDIES}
    others = [path for key, paths in files.items() if key not in keys for path in paths]
    more = Chapter("more", "More tables and figures", [], *_read_files(others, captions))
    return [one for one in (*chapters, more) if _has_content(one)], absent


def _has_content(chapter: Chapter) -> bool:
    return bool(chapter.paragraphs or chapter.figures or chapter.tables)


def _read_files(
    files: Sequence[Path], captions: Mapping[str, str]
) -> tuple[list[ChapterFigure], list[ChapterTable]]:
    figures = [
        ChapterFigure(path.stem, captions[path.stem], path, path.with_suffix(".pdf"))
        for path in files
        if path.suffix == ".png"
    ]
    tables = [
        ChapterTable(
            path.stem, read_markdown(path), path.with_suffix(".csv"), path.with_suffix(".tex")
        )
        for path in files
        if path.suffix == ".md"
    ]
    return figures, tables


def read_sources(path: Path) -> list[dict[str, Any]]:
    """Where the published numbers are from."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
