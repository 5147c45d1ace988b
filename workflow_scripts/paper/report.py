"""Write the report of a run: the chapters of its studies, as one HTML page or as a paper in LaTeX."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.chapters import read_chapters
from workflow_scripts.paper.latex import write_paper
from workflow_scripts.paper.numbers import PROSE
from workflow_scripts.paper.page import write_page
from workflow_scripts.render.numbers import Numbers, read_numbers
from workflow_scripts.render.prose import told


def describe_run(numbers: Numbers, absent: Sequence[str]) -> dict[str, Any]:
    """Describe what was measured, and what a reader might look for and not find."""
    nothing = [f"“{title}”: the config asks for nothing of it." for title in absent]
    is_miniature = numbers["run.source"].value == "miniature"
    return {
        "run": " ".join(told(PROSE / "run.md.j2", numbers)),
        "miniature": is_miniature and bool(numbers["run.records"].value),
        "missing": [*nothing, *told(PROSE / "missing.md.j2", numbers)],
    }


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
    files = {chapter: [Path(path) for path in paths] for chapter, paths in chapters.items()}
    texts = {path.stem: " ".join(path.read_text("utf-8").split()) for path in caption_files}
    figures = {figure: texts[name] for figure, name in captions.items()}
    shown, absent = read_chapters(values, files, figures)
    content = describe_run(values, absent) | {
        "chapters": shown,
        "provenance": json.loads(provenance.read_text(encoding="utf-8")),
    }
    if report.suffix == ".tex":
        write_paper(report, content)
    else:
        with sources.open(encoding="utf-8", newline="") as file:
            content |= {"sources": list(csv.DictReader(file)), "links": links}
        write_page(report, content, values)


if "snakemake" in globals():
    run_job(main, snakemake)
