"""Build the inputs and parameters of the rules in ranking.smk."""

from workflow_scripts.scores.foreign.requests import describe_tasks, list_compared
from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.studies.records import has_texts, has_ranked_models
from workflow_scripts.studies.ranking.grid_settings import (
    choose_task_pair,
    count_training_tokens,
    list_grid_models,
    list_grid_sources,
    list_model_rows,
    list_shown_tasks,
    list_requested_cells,
    read_grid_settings,
)

# The grids in config/grids, keyed by the prefix of their result files.
GRIDS = {grid.files or name: grid for name, grid in SETTINGS.grids.items()}
OWN = SETTINGS.grids[OWN_GRID].files
OTHERS = [grid for grid in GRIDS if grid != OWN]
COMPARED, COMPARED_FOLDERS = list_compared(SETTINGS)
# `compare` uses this file if it exists; it does not build it.
OWN_GRID_PRESENT = [str(path) for path in Path("results/grids").glob(f"{OWN}.parquet")]
GRID_SETTINGS = {name: read_grid_settings(SETTINGS, grid) for name, grid in GRIDS.items()}
BOOTSTRAP = {"num_bootstrap": SETTINGS.harmony.num_bootstrap, "seed": SETTINGS.seed}


wildcard_constraints:
    grid=match_any(GRIDS),


def list_grids_with(key):
    """List the imported grids that have this config key."""
    return [grid for grid in OTHERS if getattr(GRIDS[grid], key)]


GRIDS_WITH_TEXTS = [*([OWN] if has_texts(SETTINGS) else []), *list_grids_with("texts")]


def get_grid_sources(wildcards):
    return list_grid_sources(SETTINGS, GRIDS[wildcards.grid])


def get_release_source(wildcards):
    """Return the second release of a grid's scores, or an empty list."""
    return get_grid_sources(wildcards).get("release", [])


# The only parameter is `wildcards`: Snakemake passes paths and resources to other parameters of a params function.
def get_grid_settings(wildcards):
    """Return the config of a grid, which every script takes."""
    return {"settings": GRID_SETTINGS[wildcards.grid]}


def list_outputs(made, grid):
    """List the output files of rules for a grid."""
    return [path for table in made for path in expand(list(table.output), grid=grid)]


def list_results(grid):
    """List the tables and figures of an imported grid."""
    needs = {
        "attributes": (rules.compute,),
        "newer": (rules.newer,),
        "pair": (rules.task_pair,),
        "release": (rules.releases, rules.price),
        "texts": (rules.texts,),
    }
    more = [table for key, made in needs.items() if grid in list_grids_with(key) for table in made]
    return list_outputs((*OF_ANY_GRID, *more), grid)
