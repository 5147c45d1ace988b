"""Build the tables and figures of the published scores once from the files of the repository."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from tests.made_once import make_temporary_folder
from tests.unit.settings.merged import load
from tests.unit.studies.harmony.harmony_study import run_script
from workflow_scripts.render.tables import read_table
from workflow_scripts.settings.grids import list_grid_files
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_size,
    build_grid,
    components,
    newer,
    price,
    releases,
    texts,
    variance,
)
from workflow_scripts.studies.ranking.grid_settings import (
    count_training_tokens,
    list_grid_models,
    read_grid_settings,
)

ROOT = Path(__file__).parents[4]
PUBLISHED = ROOT / "resources/published"
CONFIG = load({})
MODULES = (agreement, agreement_by_size, components, newer, price, releases, texts, variance)
SCRIPTS: dict[str, Any] = {module.__name__.rpartition(".")[2]: module for module in MODULES}
FILES = {"texts": "text_agreement"}  # the table that tests read, if a script has several


def build_files(name: str, folder: Path) -> dict[str, Any]:
    """Build an imported grid as its rule does, and return the keyword arguments of its scripts."""
    grid = CONFIG.grids[name]
    sources = list_grid_files(grid)
    scores = [Path(path) for path in sources.pop("scores")]
    inputs = {key: Path(path) for key, path in sources.items()} | {"scores": scores}
    shared = {"grid": folder / "grid.parquet", "settings": read_grid_settings(CONFIG, grid)}
    models = list_grid_models(CONFIG, grid)
    build_grid.main(**inputs, **shared, known_models=models, requested={})
    return shared | {
        "texts": inputs["scores"],
        "release": inputs.get("release"),
        "seed": CONFIG.seed,
        "training_tokens": count_training_tokens(CONFIG),
        "num_bootstrap": 10,  # no test depends on this number
    }


@cache
def build_study(grid: str) -> tuple[Path, dict[str, Any]]:
    folder = make_temporary_folder()
    return folder, build_files(grid, folder)


@cache
def read_published_table(name: str, grid: str = "published") -> pd.DataFrame:
    """Make a table of published scores with its figure, and read it."""
    folder, arguments = build_study(grid)
    run_script(SCRIPTS[name], folder, arguments)
    return read_table(folder / f"{FILES.get(name, name)}.csv")


@cache
def read_cells() -> pd.DataFrame:
    """Read the published cells: model and protocol in rows, tasks and texts in columns."""
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    return long.pivot(index=["protocol", "model"], columns="task", values="value")
