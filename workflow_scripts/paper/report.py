"""Write the report of a run: the chapters of its studies, as one HTML page and as a paper in LaTeX.

The page needs no network and no other file. The paper includes figures and tables from sibling folders. Equal results
give equal bytes of both.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.clean_text import clean_lines, escape_latex
from workflow_scripts.core.files import write_json, write_text
from workflow_scripts.paper.numbers import compute_run_numbers
from workflow_scripts.paper.provenance import collect_provenance
from workflow_scripts.paper.studies import STUDIES
from workflow_scripts.render.numbers import Values, select_computed
from workflow_scripts.render.prose import read_title, render_prose
from workflow_scripts.render.tables import ShownTable, read_markdown, read_table
from workflow_scripts.render.web.policy import build_policy

PACKAGE = Path(__file__).parents[1]
PROSE = PACKAGE / "paper/prose"
WEB = PACKAGE / "render/web"
MAX_ROWS = 60  # per table in the paper
MAX_WIDTH = 190  # characters that fit across a landscape page
_LATEX_MARKS = {
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<<",
    "variable_end_string": ">>",
}


def read_content(
    numbers: Values, chapters: Mapping[str, Sequence[str]], captions: Mapping[str, str]
) -> dict[str, Any]:
    """Read the chapters that have content, and describe the run and its missing parts.

    Tables and figures are the Markdown and PNG files of `chapters`. All grids share the captions of their figures, so
    that the caption `agreement` is the one of `<grid>_agreement`.
    """
    shown = []
    missing = []
    for key in dict.fromkeys([*STUDIES, *chapters]):
        title = key
        paragraphs = []
        if key in STUDIES:
            prose = PACKAGE / f"studies/{key}/chapter.md.j2"
            title = read_title(prose)
            paragraphs = render_prose(prose, numbers)
        figures = {}
        tables = {}
        for path in map(Path, chapters.get(key, [])):
            if path.suffix == ".png":
                figures[path] = captions[next(filter(path.stem.endswith, captions))]
            if path.suffix == ".md":
                tables[path] = read_markdown(path)
        if paragraphs or figures or tables:
            chapter = {"key": key, "title": title, "paragraphs": paragraphs}
            shown.append(chapter | {"figures": figures, "tables": tables})
        else:
            missing.append(f"“{title}”: not part of this config.")
    return {
        "chapters": shown,
        "run": " ".join(render_prose(PROSE / "run.md.j2", numbers)),
        "miniature": numbers["run.source"] == "miniature" and numbers["run.records"] > 0,
        "missing": [*missing, *render_prose(PROSE / "missing.md.j2", numbers)],
    }


def make_environment(**options: Any) -> Environment:
    """Make the Jinja environment of the page's or the paper's template."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )


def write_page(path: Path, content: dict[str, Any]) -> None:
    """Write the HTML page with embedded figures; tables and figures link to their files."""
    # Markup objects come from this package and need no cleaning.
    environment = make_environment(
        autoescape=True,
        finalize=lambda value: clean_lines(value) if type(value) is str else value,
    )
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    style = "".join((WEB / f"{name}.css").read_text("utf-8") for name in ("colours", "report"))
    script = (WEB / "report.js").read_text(encoding="utf-8")
    text = environment.get_template("report.html.j2").render(
        content,
        policy=build_policy([script], [style], pictures=True),
        style=Markup(style),
        script=Markup(script),
        config=yaml.safe_dump(content["provenance"]["config"], sort_keys=False, allow_unicode=True),
    )
    write_text(path, text)


def write_paper(path: Path, content: dict[str, Any]) -> None:
    """Write the LaTeX source, which includes the files of tables and figures by relative paths."""
    environment = make_environment(**_LATEX_MARKS)
    environment.filters["tex"] = escape_latex
    text = environment.get_template("paper.tex.j2").render(content, fits_page=fits_page)
    write_text(path, text)


def fits_page(table: ShownTable) -> bool:
    """Return whether a table of the paper fits on a landscape page."""
    columns = zip(table.head, *table.rows, strict=True)
    width = sum(max(map(len, column)) + 2 for column in columns)
    return width <= MAX_WIDTH and len(table.rows) <= MAX_ROWS


def main(
    records: list[Path],
    pages: list[Path],
    sources: Path,
    captions: list[Path],
    reports: list[Path],
    facts: list[Path],
    chapters: Mapping[str, Sequence[str]],
    config: dict[str, Any],
) -> None:
    """Write the report as a page and as a paper, the numbers of its text, and their provenance.

    `chapters` has the files of each chapter, `pages` are other pages that the report links to, `facts` the files for
    numbers and provenance.
    """
    page, paper = reports
    numbers_file, provenance_file = facts
    provenance = collect_provenance(records, config)
    files = [Path(path) for paths in chapters.values() for path in paths]
    tables = {path.stem: read_table(path) for path in files if path.suffix == ".csv"}
    numbers = compute_run_numbers(provenance)
    for study in STUDIES.values():
        for table, compute_numbers in study.items():
            if table in tables:
                numbers |= compute_numbers(tables[table])
    numbers = select_computed(numbers)
    write_json(numbers_file, numbers)
    write_json(provenance_file, provenance)
    texts = {path.stem: " ".join(path.read_text("utf-8").split()) for path in captions}
    content = read_content(numbers, chapters, texts)
    content |= {"pages": pages, "provenance": provenance}
    content["sources"] = pd.read_csv(sources).to_dict("records")
    write_page(page, content)
    write_paper(paper, content)


if "snakemake" in globals():
    run_job(main, snakemake)
