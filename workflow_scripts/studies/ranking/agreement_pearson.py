"""Plot the agreement of tasks as Pearson's correlation of their scores, of grids whose table of agreement has it."""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import read_table
from workflow_scripts.studies.ranking.agreement import plot_agreement
from workflow_scripts.studies.ranking.grid_settings import GridSettings


def main(agreement: Path, figure: list[Path], settings: dict[str, Any]) -> None:
    plot_agreement(read_table(agreement), GridSettings.of(settings), figure, measure="pearson")


if "snakemake" in globals():
    run_job(main, snakemake)
