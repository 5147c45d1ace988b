"""The tables and figures of the published scores, made once from the files of the repository."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from tests.made_once import make_temporary_folder
from tests.unit.settings.merged import load
from workflow_scripts.render.tables import read_table
from workflow_scripts.settings.grids import list_grid_files
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_size,
    build_grid,
    categories,
    components,
    compute,
    newer,
    price,
    releases,
    text_agreement,
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


def build_files(name: str, folder: Path, config=CONFIG) -> dict[str, Any]:
    """Build a grid of others as its rule does, and return its files and settings by the names of arguments."""
    sources: dict[str, Any] = list_grid_files(config.grids[name], ROOT)
    paths = {key: [Path(path) for path in files] for key, files in sources.items()}
    inputs = {key: files if key == "scores" else files[0] for key, files in paths.items()}
    grid = {"cells": folder / "cells.parquet", "models": folder / "models.parquet"}
    settings = {"settings": read_grid_settings(config, name)}
    models = list_grid_models(config, name)
    build_grid.main(**inputs, **grid, **settings, known_models=models, wanted={})
    return grid | settings | {"texts": inputs["scores"], "release": inputs.get("release")}


def make_table(module, folder: Path, arguments: dict[str, Any], takes: str, **more) -> None:
    """Make a table and its figures; `takes` are the names of its arguments."""
    name = module.__name__.rpartition(".")[2]
    files = {"table": [folder / f"{name}.{kind}" for kind in ("csv", "md", "tex")]}
    files["figure"] = [folder / f"{name}_figure.{kind}" for kind in ("pdf", "png")]
    module.main(**{key: (files | arguments)[key] for key in takes.split()}, **more)


_GRID = "cells models settings table"
_SEED = {"seed": CONFIG.seed}
_DRAWS = {"num_bootstrap": 50, **_SEED}  # no test depends on how many
MODULES: dict[str, tuple] = {
    "agreement": (agreement, f"{_GRID} figure", _DRAWS),
    "agreement_by_size": (agreement_by_size, _GRID, _DRAWS),
    "categories": (categories, f"{_GRID} figure", {}),
    "components": (components, f"{_GRID} figure release", _SEED),
    "compute": (compute, f"{_GRID} figure", {}),
    "price": (
        price,
        f"{_GRID} release",
        {"training_tokens": count_training_tokens(CONFIG), **_SEED},
    ),
    "releases": (releases, f"{_GRID} release", {}),
    "text_agreement": (text_agreement, f"{_GRID} figure texts", {}),
    "variance": (variance, f"{_GRID} release", {}),
}


@cache
def build_published() -> tuple[Path, dict[str, Any]]:
    folder = make_temporary_folder()
    return folder, build_files("published", folder)


@cache
def read_published_table(name: str) -> pd.DataFrame:
    """Make a table of the published scores with its figure, and read it."""
    folder, arguments = build_published()
    module, takes, more = MODULES[name]
    make_table(module, folder, arguments, takes, **more)
    return read_table(folder / f"{name}.csv")


@cache
def make_newer_table() -> pd.DataFrame:
    folder = make_temporary_folder()
    make_table(newer, folder, build_files("test_task", folder), f"{_GRID} figure")
    return read_table(folder / "newer.csv")


@cache
def read_cells() -> pd.DataFrame:
    """Read the published cells: model and protocol in rows, tasks and texts in columns."""
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    return long.pivot(index=["protocol", "model"], columns="task", values="value")
