"""Place each model of the Harmony study on the published panel.

In: results/scores/harmony.parquet, imported scores, and the published leaderboard.
Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path,
    imported: list[Path],
    published: Path,
    csv: Path,
    md: Path,
    tex: Path,
    *,
    grid: dict,
) -> None:
    from workflow_scripts.scores.published_leaderboard import read_panel
    from workflow_scripts.studies.harmony.grid import read_grids
    from workflow_scripts.studies.harmony.panel import harmony_panel, write_harmony_panel

    table = harmony_panel(read_grids(scores, imported, grid), read_panel(published))
    write_harmony_panel(table, grid["tasks"], csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.imported],
            Path(snakemake.input.published),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
