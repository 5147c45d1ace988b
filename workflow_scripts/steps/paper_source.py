"""Write the paper: the stories, figures and tables of the report as LaTeX, each number by its name.

In: numbers, tables (CSV, beside them Markdown and LaTeX) and figures, captions, provenance.
Out: results/report/paper.tex.
"""

import json
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    tables: list[Path],
    figures: list[Path],
    numbers: Path,
    provenance: Path,
    captions: list[Path],
    paper: Path,
) -> None:
    from workflow_scripts.paper.chapters import chapters
    from workflow_scripts.paper.latex import write_paper
    from workflow_scripts.paper.run import what_is_missing
    from workflow_scripts.render.numbers import read_numbers

    named, about = read_numbers(numbers), json.loads(provenance.read_text(encoding="utf-8"))
    told, absent = chapters(named, tables, figures, captions)
    write_paper(paper, told, about, what_is_missing(named, about, absent))


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.tables],
            [Path(path) for path in snakemake.input.figures],
            Path(snakemake.input.numbers),
            Path(snakemake.input.provenance),
            [Path(path) for path in snakemake.input.captions],
            Path(snakemake.output.paper),
        )
