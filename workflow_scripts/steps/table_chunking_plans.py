"""Tabulate the chunked checkpoints: the plan drawn, parameters, and how exact they are.

In: the reports of verify_chunked. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(reports: list[Path], csv: Path, md: Path, tex: Path) -> None:
    import json

    from workflow_scripts.studies.chunking.plans import plans_table, write_plans_table

    found = [json.loads(report.read_text(encoding="utf-8")) for report in reports]
    write_plans_table(plans_table(found), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(report) for report in snakemake.input.reports],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
