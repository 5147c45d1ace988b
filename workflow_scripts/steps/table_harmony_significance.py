"""Test which models of the Harmony study differ, on each task and over all.

In: results/scores/harmony.parquet, imported scores, and the records, whose items lie beside them.
Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path,
    imported: list[Path],
    records: list[Path],
    csv: Path,
    md: Path,
    tex: Path,
    *,
    grid: dict,
) -> None:
    from workflow_scripts.studies.harmony.answers import right_answers
    from workflow_scripts.studies.harmony.grid import read_grids
    from workflow_scripts.studies.harmony.significance import (
        harmony_significance,
        write_harmony_significance,
    )

    table = harmony_significance(read_grids(scores, imported, grid), right_answers(records))
    write_harmony_significance(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.imported],
            [Path(path) for path in snakemake.input.records],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
