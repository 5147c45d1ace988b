"""Tabulate what the run did cost beside what was planned, by study and rule.

In: the records of all studies, and the benchmarks of their jobs. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(snakefile: Path, config: dict, cluster: dict, csv: Path, md: Path, tex: Path) -> None:
    from workflow_scripts.paper.cost import cost_table, write_cost_table
    from workflow_scripts.planning.jobs import planned_jobs

    table = cost_table(planned_jobs(snakefile, config), cluster, Path())
    write_cost_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.params.snakefile),
            snakemake.params.settings["config"],
            snakemake.params.settings["cluster"],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
