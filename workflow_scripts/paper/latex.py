"""The report as a paper: LaTeX whose every number is a name, and the PDF where TeX is at hand."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workflow_scripts.core.clean_text import latex_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path, write_text
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.tex_engine import NONE_FOUND, find_engine
from workflow_scripts.paper.chapters import Chapter, ChapterTable
from workflow_scripts.paper.run import is_generated, tell_run
from workflow_scripts.render.numbers import Numbers, filled

HERE = Path(__file__).parent / "templates"
ROWS_PRINTED = 60  # a longer table is for a data file
# What fits on a page: characters and gaps across in each size of type, upright and sideways.
_SIZES = ((r"\footnotesize", 100, False), (r"\scriptsize", 120, False), (r"\scriptsize", 190, True))
_GAP = 2  # characters that the space between two columns takes
_MOST_RUNS = 5


def write_paper(
    path: Path,
    chapters: list[Chapter],
    numbers: Numbers,
    provenance: dict[str, Any],
    missing: list[str],
) -> None:
    """The source; it reads numbers.tex, figures and tables from beside its own folder."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
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
    environment.filters["prose"] = lambda text: filled(text, r"\val{{{}}}".format, latex_text)
    environment.filters["tex"] = latex_text
    environment.filters["size"] = size_of
    text = environment.get_template("paper.tex.j2").render(
        chapters=chapters,
        run=tell_run(numbers),
        provenance=provenance,
        miniature=is_generated(numbers),
        missing=missing,
        rows_printed=ROWS_PRINTED,
    )
    write_text(path, text)


def size_of(table: ChapterTable) -> tuple[str, bool] | None:
    """In which type it fits on a page, and whether sideways; None where it does not or is too long."""
    if len(table.shown.rows) > ROWS_PRINTED:
        return None
    columns = zip(table.shown.head, *table.shown.rows, strict=True)
    width = sum(max(map(len, column)) + _GAP for column in columns)
    return next(((size, turned) for size, most, turned in _SIZES if width <= most), None)


def paper_pdf(inputs: InputFiles, _: dict[str, Any], outputs: OutputFiles) -> None:
    build_pdf(inputs["paper"][0], outputs["pdf"])


def build_pdf(source: Path, pdf: Path) -> None:
    """Run TeX until its cross references stand still; no date goes into the file."""
    engine = find_engine()
    if engine is None:
        raise UserError(f"{pdf} cannot be made: {NONE_FOUND}.")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_MOST_RUNS):
            said = _run(engine, source, Path(folder))
            if "Rerun" not in said:
                break
        with atomic_path(pdf) as temporary:
            temporary.write_bytes((Path(folder) / source.with_suffix(".pdf").name).read_bytes())


def _run(engine: str, source: Path, folder: Path) -> str:
    result = subprocess.run(
        [
            *(engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
            *(f"-output-directory={folder}", source.name),
        ],
        cwd=source.parent,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode:
        lines = result.stdout.splitlines()
        first = next((at for at, line in enumerate(lines) if line.startswith("!")), len(lines) - 8)
        said = "\n".join(lines[first : first + 8])
        raise UserError(f"{source} does not go through {Path(engine).name}:\n{said}")
    return result.stdout
