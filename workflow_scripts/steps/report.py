"""Write the report: the story of each study with its numbers, figures and tables, on one page.

In: numbers, tables (CSV, beside them Markdown and LaTeX) and figures, captions, provenance, and where the
published numbers are from. Out: results/report/index.html.
"""

import json
from pathlib import Path

from workflow_scripts.core.step import step


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
    from workflow_scripts.reporting.report.chapters import chapters, read_sources
    from workflow_scripts.reporting.report.numbers import read_numbers
    from workflow_scripts.reporting.report.page import write_page
    from workflow_scripts.reporting.report.run import what_is_missing

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
