"""Find the principal components of the scores of each protocol.

In: results/scores/harmony.parquet and imported scores. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path,
    imported: list[Path],
    csv: Path,
    md: Path,
    tex: Path,
    *,
    grid: dict,
    draws: int,
    seed: int,
) -> None:
    from workflow_scripts.studies.harmony.components import (
        harmony_components,
        write_harmony_components,
    )
    from workflow_scripts.studies.harmony.grid import read_grids

    grids = read_grids(scores, imported, grid)
    table = harmony_components(grids, draws=draws, seed=seed)
    write_harmony_components(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.imported],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
