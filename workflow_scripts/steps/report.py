"""Tell the story of each study with its numbers, figures and tables: on one page, or as a paper in LaTeX.

In: numbers, tables (CSV, beside them LaTeX) and figures, captions, provenance, and where the published
numbers are from. Out: results/report/index.html, or results/report/paper.tex.
"""

import json
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(inputs: dict, request: dict, out: Path) -> None:
    from workflow_scripts.paper.chapters import chapters, read_sources
    from workflow_scripts.paper.latex import write_paper
    from workflow_scripts.paper.page import write_page
    from workflow_scripts.paper.run import what_is_missing
    from workflow_scripts.render.inputs import Inputs
    from workflow_scripts.render.numbers import read_numbers
    from workflow_scripts.settings.paper import Report

    files, asked = Inputs(inputs), Report.of(request)
    numbers = read_numbers(files.one("numbers"))
    about = json.loads(files.one("provenance").read_text(encoding="utf-8"))
    made = (files["tables"], files["figures"], files["captions"])
    told, absent = chapters(numbers, *made, asked.tables)
    missing = what_is_missing(numbers, about, absent)
    if asked.form == "paper":
        write_paper(out, told, about, missing)
    else:
        sources = read_sources(files.one("sources"))
        write_page(out, told, numbers, about, missing, sources, asked.links)


if "snakemake" in globals():
    with step(snakemake):
        (out,) = snakemake.output
        main(dict(snakemake.input.items()), snakemake.params.request, Path(out))
