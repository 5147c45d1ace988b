"""The demo's grid, shrunken: run once without any misfortune, then again in other ways."""

import shutil
from pathlib import Path

from tests.workflow.snakemake import SMALL, run_snakemake

GRID = [*SMALL, str(Path(__file__).parent / "grid.yaml")]
TARGETS = ["results/tables/harmony_scores.md", "results/tables/harmony_leaderboard.md"]


def make_grid(folder: Path, **environment: str) -> Path:
    result = run_snakemake(folder, *TARGETS, *GRID, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def folder_with_hub(finished: Path, folder: Path) -> Path:
    """A folder with the hub of another, and with what Snakemake knows of it; no results."""
    folder.mkdir(exist_ok=True)
    for name in (".snakemake", "resources"):
        shutil.copytree(finished / name, folder / name)
    return folder
