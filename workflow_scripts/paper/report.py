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
    caption_files: list[Path],
    report: Path,
    chapters: Mapping[str, Sequence[str]],
    captions: Mapping[str, str],
    links: Mapping[str, str],
) -> None:
    """Write the report: the paper where it is a .tex file, else the page.

    `chapters` has the Markdown tables and PNG figures of each chapter, `captions` the name of each figure's caption,
    `links` other pages by title.
    """
    values = read_numbers(numbers)
    facts = json.loads(provenance.read_text(encoding="utf-8"))
    files = {chapter: [Path(path) for path in paths] for chapter, paths in chapters.items()}
    texts = {path.stem: " ".join(path.read_text("utf-8").split()) for path in caption_files}
    figures = {figure: texts[name] for figure, name in captions.items()}
    shown, absent = read_chapters(values, files, figures)
    missing = what_is_missing(values, absent)
    if report.suffix == ".tex":
        write_paper(report, shown, values, facts, missing)
    else:
        write_page(report, shown, values, facts, missing, read_sources(sources), dict(links))


if "snakemake" in globals():
    run_job(main, snakemake)
