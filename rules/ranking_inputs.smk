"""The inputs and parameters of the tables of grids."""

from workflow_scripts.scores.foreign.requests import describe_tasks, list_compared
from workflow_scripts.settings.grids import OWN_GRID, list_grid_files
from workflow_scripts.studies.records import has_texts, has_ranked_models
from workflow_scripts.studies.ranking.grid_settings import (
    choose_task_pair,
    count_training_tokens,
    list_grid_models,
    list_model_rows,
    list_shown_tasks,
    list_requested_cells,
    read_grid_settings,
)

# By what the names of its results begin with, the name of each grid in config/grids.
GRIDS = {grid.files or name: name for name, grid in SETTINGS.grids.items()}
OWN = SETTINGS.grids[OWN_GRID].files
OTHERS = [grid for grid in GRIDS if grid != OWN]
COMPARED, COMPARED_FOLDERS = list_compared(SETTINGS)
# Never made for a comparison.
OWN_GRID_PRESENT = [str(path) for path in Path("results/grids").glob(f"{OWN}.parquet")]
OWN_SCORES_PRESENT = [str(path) for path in Path("results/scores").glob("harmony.parquet")]
GRID_SETTINGS = {grid: read_grid_settings(SETTINGS, name) for grid, name in GRIDS.items()}


wildcard_constraints:
    grid=match_any(GRIDS),


def list_grids_with(key):
    """List the grids of others whose file has this key."""
    return [grid for grid in OTHERS if getattr(SETTINGS.grids[GRIDS[grid]], key)]


GRIDS_WITH_TEXTS = [*([OWN] if has_texts(SETTINGS) else []), *list_grids_with("texts")]


def get_grid_sources(wildcards):
    """Return the files that a grid is built from, by name."""
    if wildcards.grid != OWN:
        grid = SETTINGS.grids[GRIDS[wildcards.grid]]
        files = list_grid_files(grid, Path(SETTINGS.workflow_folder))
        return {name: paths if name == "scores" else paths[0] for name, paths in files.items()}
    published = ["published/harmony_leaderboard.csv", "published/harmony_cells.csv"]
    is_real = SETTINGS.source == "huggingface"  # what the published releases say of a training
    return {
        "scores": ["results/scores/harmony.parquet"],
        "errors": "results/scores/harmony_errors.parquet",
        "imported": list(SETTINGS.harmony.imported_scores),
        "released": list(map(SETTINGS.resource, published)) if is_real else [],
        "correlations": SETTINGS.resource("published/items/correlations.csv"),
    }


def get_text_sources(wildcards):
    """Return the files with bits per byte of texts."""
    if wildcards.grid == OWN:
        return ["results/scores/corpora.parquet"]
    return get_grid_sources(wildcards)["scores"]


def get_release_source(wildcards):
    """Return the second release of a grid's scores, if it has one."""
    return get_grid_sources(wildcards).get("release", [])


# These take the wildcards alone: Snakemake hands paths and resources to any other parameter of a params function.
def get_grid_settings(wildcards):
    """Return what every script of a grid is given of the config."""
    return {"settings": GRID_SETTINGS[wildcards.grid]}


def get_bootstrap_settings(wildcards):
    """Return the same with the number of bootstrap draws and the seed."""
    draws = {"num_bootstrap": SETTINGS.harmony.num_bootstrap, "seed": SETTINGS.seed}
    return get_grid_settings(wildcards) | draws


def get_grid_figure(name, grid="{grid}"):
    """Return the two files of a figure, of which the report has one."""
    png, caption = f"results/figures/{grid}_{name}.png", f"../docs/captions/{name}.rst"
    return [png.replace(".png", ".pdf"), report(png, caption=caption, category="Rankings")]


def list_outputs(made, grid):
    """List the files that rules make of a grid."""
    return [path for table in made for path in expand(list(table.output), grid=grid)]


def list_results(grid):
    """List the tables and figures of a grid of others."""
    needs = {
        "attributes": (rules.compute,),
        "newer": (rules.newer,),
        "pair": (rules.task_pair,),
        "release": (rules.releases, rules.price),
        "texts": (rules.texts,),
    }
    more = [table for key, made in needs.items() if grid in list_grids_with(key) for table in made]
    return list_outputs((*OF_ANY_GRID, *more), grid)
