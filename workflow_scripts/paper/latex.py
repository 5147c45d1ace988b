"""The report as a paper: LaTeX whose every number is a name, and the PDF where TeX is at hand."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.clean_text import escape_latex
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path, write_text
from workflow_scripts.core.tex_engine import NONE_FOUND, find_engine
from workflow_scripts.render.numbers import filled
from workflow_scripts.render.tables import ShownTable

MAX_ROWS = 60  # a longer table is for a data file
MAX_WIDTHS = {"upright": 100, "landscape": 190}  # characters that fit across a page
TEX_RUNS = 3  # until the cross references stand still


def write_paper(path: Path, content: dict[str, Any]) -> None:
    """Write the source; it reads numbers.tex, figures and tables from beside its own folder."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = lambda text: filled(text, r"\val{{{}}}".format, escape_latex)
    environment.filters["tex"] = escape_latex
    environment.filters["layout"] = choose_layout
    write_text(path, environment.get_template("paper.tex.j2").render(content))


def choose_layout(table: ShownTable) -> str | None:
    """Choose how a table is printed: upright or landscape, or None where it does not fit on a page or is too long."""
    columns = zip(table.head, *table.rows, strict=True)
    width = sum(max(map(len, column)) + 2 for column in columns)
    if len(table.rows) > MAX_ROWS:
        return None
    return next((name for name, most in MAX_WIDTHS.items() if width <= most), None)


def paper_pdf(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Run TeX; no date goes into the file."""
    (source,), pdf = inputs["paper"], outputs["pdf"]
    engine = find_engine()
    if engine is None:
        raise UserError(f"{pdf} cannot be made: {NONE_FOUND}.")
    with tempfile.TemporaryDirectory() as folder:
        options = ["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
        command = [engine, *options, f"-output-directory={folder}", source.name]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
        for _run in range(TEX_RUNS):
            result = subprocess.run(
                command,
                cwd=source.parent,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if result.returncode:
                end = result.stdout[-2_000:]
                raise UserError(f"{source} does not go through {Path(engine).name}:\n{end}")
        with atomic_path(pdf) as temporary:
            temporary.write_bytes((Path(folder) / source.with_suffix(".pdf").name).read_bytes())


if "snakemake" in globals():
    run_job(paper_pdf, snakemake)
