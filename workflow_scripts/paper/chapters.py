"""What a page and a paper show: chapters of paragraphs, figures and tables, read from the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_scripts.paper.studies import STUDIES
from workflow_scripts.render.numbers import Numbers
from workflow_scripts.render.prose import told
from workflow_scripts.render.tables import ShownTable, read_markdown


@dataclass(frozen=True)
class Chapter:
    key: str
    title: str
    paragraphs: list[str]  # each number by its name in braces
    figures: dict[Path, str]  # PNG files, which lie beside their PDF, with their captions
    tables: dict[Path, ShownTable]  # Markdown files, which lie beside their CSV and TeX

    @property
    def has_content(self) -> bool:
        return bool(self.paragraphs or self.figures or self.tables)


def read_chapters(
    numbers: Numbers, files: Mapping[str, Sequence[Path]], captions: Mapping[str, str]
) -> tuple[list[Chapter], list[str]]:
    """Read the chapters there is something for, and list the titles of those there is nothing for.

    `files` has the Markdown tables and the PNG figures of each chapter, `captions` the caption of each figure.
    """

    def read_chapter(key: str, title: str, paragraphs: list[str], paths: Sequence[Path]) -> Chapter:
        figures = {path: captions[path.stem] for path in paths if path.suffix == ".png"}
        tables = {path: read_markdown(path) for path in paths if path.suffix == ".md"}
        return Chapter(key, title, paragraphs, figures, tables)

    chapters = [
        read_chapter(study.key, study.title, told(study.prose, numbers), files.get(study.key, []))
        for study in STUDIES
    ]
    absent = [chapter.title for chapter in chapters if not chapter.has_content]
    keys = {study.key for study in STUDIES}
    others = [path for key, paths in files.items() if key not in keys for path in paths]
    chapters.append(read_chapter("more", "More tables and figures", [], others))
    return [chapter for chapter in chapters if chapter.has_content], absent
