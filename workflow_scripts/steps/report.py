"""Write the report: the story of each study with its numbers, figures and tables, on one page.

In: numbers, tables (CSV, beside them Markdown and LaTeX) and figures, captions, provenance, and where the
published numbers are from. Out: results/report/index.html.
"""

import json
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    tables: list[Path],
    figures: list[Path],
    numbers: Path,
    provenance: Path,
    sources: Path,
    page: Path,
    *,
    captions: list[Path],
    links: dict[str, str],
) -> None:
    from workflow_scripts.paper.chapters import chapters, read_sources
    from workflow_scripts.paper.page import write_page
    from workflow_scripts.paper.run import what_is_missing
    from workflow_scripts.render.numbers import read_numbers

    named, about = read_numbers(numbers), json.loads(provenance.read_text(encoding="utf-8"))
    told, absent = chapters(named, tables, figures, captions)
    missing = what_is_missing(named, about, absent)
    write_page(page, told, named, about, missing, read_sources(sources), links)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.tables],
            [Path(path) for path in snakemake.input.figures],
            Path(snakemake.input.numbers),
            Path(snakemake.input.provenance),
            Path(snakemake.input.sources),
            Path(snakemake.output.page),
            captions=[Path(path) for path in snakemake.input.captions],
            links=snakemake.params.settings["links"],
        )
