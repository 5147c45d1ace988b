"""What the rules of rankings are given: grids, and what they are built from."""

from workflow_scripts.settings.grids import OWN_GRID, grid_inputs
from workflow_scripts.studies.records import has_texts, ranks_models
from workflow_scripts.studies.ranking.grid_settings import (
    choose_task_pair,
    count_training_tokens,
    list_grid_models,
    list_known_models,
    list_shown_tasks,
    list_wanted_cells,
    read_grid_settings,
)

# By what the names of its results begin with, the name of each grid in config/grids.
GRIDS = {grid.files or name: name for name, grid in SETTINGS.grids.items()}
OWN = SETTINGS.grids[OWN_GRID].files
OTHERS = [grid for grid in GRIDS if grid != OWN]
GRID_SETTINGS = {grid: read_grid_settings(SETTINGS, name) for grid, name in GRIDS.items()}


def grids_with(key):
    """Grids of others whose file has this key."""
    return [grid for grid in OTHERS if getattr(SETTINGS.grids[GRIDS[grid]], key)]


GRIDS_WITH_PEARSON = [grid for grid in GRIDS if "pearson" in SETTINGS.grids[GRIDS[grid]].measures]
GRIDS_WITH_TEXTS = [*([OWN] if has_texts(SETTINGS) else []), *grids_with("texts")]


def grid_sources(wildcards):
    """The files that a grid is built from, by name."""
    if wildcards.grid != OWN:
        grid = SETTINGS.grids[GRIDS[wildcards.grid]]
        found = grid_inputs(grid, Path(SETTINGS.workflow_folder))
        return {name: files if name == "scores" else files[0] for name, files in found.items()}
    published = [f"published/harmony_{name}.csv" for name in ("leaderboard", "cells")]
    return {
        "scores": ["results/scores/harmony.parquet"],
        "errors": "results/scores/harmony_errors.parquet",
        "imports": list_import_folders(SETTINGS),
        "imported": list(SETTINGS.harmony.imported_scores),
        "released": list(map(SETTINGS.resource, published)),
        "correlations": SETTINGS.resource("published/items/correlations.csv"),
    }


def text_sources(wildcards):
    """The files with bits per byte of texts."""
    if wildcards.grid == OWN:
        return ["results/scores/corpora.parquet"]
    return grid_sources(wildcards)["scores"]


def release_source(wildcards):
    """The second release of a grid's scores, if it has one."""
    return grid_sources(wildcards).get("release", [])


def settings_of_grid(wildcards, **more):
    """What every script of a grid is given of the config, and more."""
    return {"settings": GRID_SETTINGS[wildcards.grid], **more}


def drawn_settings(wildcards):
    """The same with what draws are made by."""
    draws = SETTINGS.harmony.bootstrap_draws
    return settings_of_grid(wildcards, bootstrap_draws=draws, seed=SETTINGS.seed)


def list_outputs(made, grid):
    return [path for one in made for path in expand(list(one.output), grid=grid)]


def list_results(grid):
    """The tables and figures of a grid of others."""
    needs = {
        "attributes": (rules.compute,),
        "newer": (rules.newer,),
        "pair": (rules.task_pair,),
        "release": (rules.releases, rules.price),
        "texts": OF_TEXTS,
    }
    more = [one for key, found in needs.items() if grid in grids_with(key) for one in found]
    pearson = (rules.agreement_pearson,) if grid in GRIDS_WITH_PEARSON else ()
    return list_outputs((*OF_ANY_GRID, *pearson, *more), grid)
