"""Set the paper, where the machine has TeX.

In: results/report/paper.tex and what it reads. Out: results/report/paper.pdf.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(paper: Path, pdf: Path) -> None:
    from workflow_scripts.paper.latex import build_pdf

    build_pdf(paper, pdf)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.paper), Path(snakemake.output.pdf))
