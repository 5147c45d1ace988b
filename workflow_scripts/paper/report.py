"""Write the report of a run: the chapters of its studies, as one HTML page or as a paper in LaTeX."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.chapters import read_chapters, read_sources
from workflow_scripts.paper.latex import write_paper
from workflow_scripts.paper.page import write_page
from workflow_scripts.paper.run import what_is_missing
from workflow_scripts.render.numbers import read_numbers


def main(
    numbers: Path,
    provenance: Path,
    sources: Path,
    chapters: Mapping[str, Sequence[str]],
    captions: Mapping[str, str],
    links: Mapping[str, str],
    page: Path | None = None,
    paper: Path | None = None,
) -> None:
    """Write the page or the paper.

    `chapters` has the Markdown tables and PNG figures of each chapter, `captions` the caption of each figure, `links`
    other pages to other pages by title.
    """
    values = read_numbers(numbers)
    facts = json.loads(provenance.read_text(encoding="utf-8"))
    files = {chapter: [Path(path) for path in paths] for chapter, paths in chapters.items()}
    shown, absent = read_chapters(values, files, captions)
    missing = what_is_missing(values, absent)
    if paper:
        write_paper(paper, shown, values, facts, missing)
    if page:
        write_page(page, shown, values, facts, missing, read_sources(sources), dict(links))


if "snakemake" in globals():
    run_job(main, snakemake)
