"""The tables and figures of the published scores, made once from the files of the repository."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

from tests.made_once import temporary_folder
from tests.unit.settings.merged import load
from workflow_scripts.render import figures
from workflow_scripts.render.tables import read_table
from workflow_scripts.settings.grids import grid_inputs
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_size,
    agreement_pearson,
    bits,
    build_grid,
    categories,
    components,
    compute,
    newer,
    price,
    releases,
    task_pair,
    text_agreement,
    text_pairs,
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
_DRAWS = {"bootstrap_draws": CONFIG.harmony.bootstrap_draws, "seed": CONFIG.seed}
_SEED = {"seed": CONFIG.seed}


def build(name: str, folder: Path, config=CONFIG) -> dict[str, Any]:
    """Build a grid of others as its rule does; returns its files and settings, by the names of arguments."""
    sources: dict[str, Any] = grid_inputs(config.grids[name], ROOT)
    paths = {key: [Path(path) for path in files] for key, files in sources.items()}
    found = {key: files if key == "scores" else files[0] for key, files in paths.items()}
    grid = {"cells": folder / "cells.parquet", "models": folder / "models.parquet"}
    settings = {"settings": read_grid_settings(config, name)}
    known = list_grid_models(config, name)
    build_grid.main(**found, **grid, **settings, known_models=known, wanted={})
    return grid | settings | {"texts": found["scores"], "release": found.get("release")}


def make(module, folder: Path, given: dict[str, Any], takes: str, **more) -> None:
    """Make a table and its figures; `takes` are the names of what it is given."""
    name = module.__name__.rpartition(".")[2]
    files = {"table": [folder / f"{name}.{kind}" for kind in ("csv", "md", "tex")]}
    files["figure"] = [folder / f"{name}_figure.{kind}" for kind in ("pdf", "png")]
    module.main(**{key: (files | given)[key] for key in takes.split()}, **more)


@cache
def made() -> tuple[Path, dict[str, list[str]]]:
    """A folder with all tables and figures, and what is written in each figure."""
    folder, said = temporary_folder(), {}
    save = figures.save_both

    def listen(fig, files):
        texts = fig.findobj(Text)
        said[files[0].stem] = [text.get_text() for text in texts if text.get_visible()]
        save(fig, files)

    given, of_grid = build("published", folder), "cells models settings table"
    pair = {"task_pair": CONFIG.grids["published"].pair}
    tokens = {"training_tokens": count_training_tokens(CONFIG)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "save_both", listen)
        make(agreement, folder, given, f"{of_grid} figure", **_DRAWS)
        table = {"agreement": folder / "agreement.csv"}
        make(agreement_pearson, folder, given, "settings figure", **table)
        make(agreement_by_size, folder, given, of_grid, **_DRAWS)
        make(categories, folder, given, f"{of_grid} figure")
        make(compute, folder, given, f"{of_grid} figure")
        make(task_pair, folder, given, f"{of_grid} figure", **pair)
        make(components, folder, given, f"{of_grid} figure release", **_SEED)
        make(variance, folder, given, f"{of_grid} release")
        make(releases, folder, given, f"{of_grid} release")
        make(price, folder, given, f"{of_grid} release", **tokens, **_SEED)
        make(text_agreement, folder, given, f"{of_grid} figure texts")
        make(bits, folder, given, "settings table texts")
        make(text_pairs, folder, given, "settings table figure texts")
    return folder, said


def read_made(name: str) -> pd.DataFrame:
    return read_table(made()[0] / f"{name}.csv")


@cache
def newer_table() -> pd.DataFrame:
    folder = temporary_folder()
    make(newer, folder, build("test_task", folder), "cells models settings table")
    return read_table(folder / "newer.csv")


@cache
def cells() -> pd.DataFrame:
    """The file as it is: model and protocol in rows, tasks and texts in columns."""
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    return long.pivot(index=["protocol", "model"], columns="task", values="value")
