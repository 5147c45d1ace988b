"""Build a grid from the scores of a run or files of imported ones: its cells, their errors, and what is floored."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.scores.errors import get_metric_minimum
from workflow_scripts.scores.files import read_external_csv
from workflow_scripts.scores.foreign.cells import KnownModel, add_imported_models
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.tidy import read_all_imported
from workflow_scripts.settings.error_messages import listed
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.stats.shares import share_error
from workflow_scripts.studies.ranking.errors import (
    Cells,
    KnownErrors,
    combine_errors,
    label_models,
    read_known_errors,
)
from workflow_scripts.studies.ranking.frame import OWN, STUDY
from workflow_scripts.studies.ranking.grid import Grid, write_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_CELL = ["label", "task"]
_MODEL = ["model", "variant", "origin"]
Wanted = Mapping[str, Mapping[str, Sequence[str]]]  # by protocol its models and its tasks


def read_scores(
    paths: Sequence[Path], imported: Sequence[Path], settings: GridSettings
) -> pd.DataFrame:
    """Read all scores as they are; their study is the file that they are from, or the run's."""
    grid, metrics = settings.grid, settings.metrics
    if grid.run:
        others = read_all_imported(imported, metrics, taken={STUDY})
        return pd.concat([*map(pd.read_parquet, paths), *others], ignore_index=True)
    read = [read_imported(path, metrics, list(grid.protocols), others=True) for path in paths]
    scores = pd.concat(read, ignore_index=True)
    expected = {key for key, one in grid.protocols.items() if not one.scores_of}
    lacking = sorted(expected - set(scores["protocol"]))
    models = scores["model"].nunique()
    if lacking or models != (grid.models or models):
        raise UserError(
            f"{listed(map(str, paths))}: there are scores of {models} models and none under the"
            f" protocols {lacking}; expected {grid.models or 'some'} models, and each protocol."
        )
    return scores


def read_attributes(path: Path, grid: GridFile) -> pd.DataFrame:
    """Read what is known of each model, under our names for it."""
    columns = {"model": "model"} | (grid.attributes.columns if grid.attributes else {})
    expected = f"a header with {', '.join(columns.values())}, and a line for each model, once"
    table = read_external_csv(path, expected, sep="\t" if path.suffix == ".tsv" else ",")
    if not set(columns.values()) <= set(table) or table["model"].duplicated().any():
        raise UserError(f"{path} has a model twice or lacks a column; expected {expected}.")
    table = table[list(columns.values())].set_axis(list(columns), axis=1).set_index("model")
    if "date" in table:
        pd.to_datetime(table["date"], format="ISO8601")  # raises where one is no month or day
    return table


def describe_models(models: Sequence[KnownModel], attributes: pd.DataFrame | None) -> pd.DataFrame:
    """Describe the known models by name; what the grid's own file says counts."""
    about = pd.DataFrame(map(dict, models)).set_index("model")
    if attributes is None:
        return about
    about = about.drop(columns=attributes.columns, errors="ignore").join(attributes, how="outer")
    if "parameters_billion" in about:
        about["parameters"] = about["parameters"].fillna(1e9 * about["parameters_billion"])
    return about


def make_grids(
    tidy: pd.DataFrame,
    settings: GridSettings,
    wanted: Wanted,
    about: pd.DataFrame,
    known: KnownErrors,
) -> dict[str, Grid]:
    """Make a grid for each protocol that has a score or should have one, floored where its grid says so."""
    tidy = tidy[tidy["subset"].isna() & (tidy["metric"] == tidy["task"].map(settings.metrics))]
    tidy = tidy.assign(origin=tidy["study"].where(tidy["study"] != STUDY, OWN))
    tidy["label"] = label_models(tidy) if settings.grid.run else tidy["model"] + tidy["variant"]
    protocols = settings.grid.protocols
    # A file may have scores of texts alone.
    present = (set(wanted) | set(tidy["protocol"])) or {settings.grid.baseline}
    parts = {
        key: _make_cells(tidy[tidy["protocol"] == key], wanted.get(key, {}), settings, about)
        for key in protocols
        if key in present
    }
    errors = combine_errors(parts, settings, known)
    grids: dict[str, Grid] = {}
    for key, protocol in protocols.items():
        if key in parts:
            grids[key] = Grid(key, errors[key], parts[key].models, parts[key].absent)
        raw, floor = grids.get(protocol.scores_of or key), grids.get(protocol.floored_by or "")
        if protocol.floored_by and raw and floor:
            floored = floor_grid(key, raw, floor)
            if floored.values.notna().to_numpy().any():
                grids[key] = floored
    return grids


def _make_cells(
    tidy: pd.DataFrame,
    wanted: Mapping[str, Sequence[str]],
    settings: GridSettings,
    about: pd.DataFrame,
) -> Cells:
    cells = _average_seeds(tidy)
    ids = [CheckpointId.parse(name) for name in wanted.get("models", ())]
    asked = pd.DataFrame(
        [(id.model, id.variant, OWN) for id in ids], list(map(str, ids)), _MODEL, dtype=object
    )
    models = pd.concat([asked, cells.drop_duplicates("label").set_index("label")[_MODEL]])
    models = models[~models.index.duplicated()].rename_axis(None)
    present = set(cells["task"])
    asked_tasks = list(wanted.get("tasks", ()))
    tasks = list(dict.fromkeys([*asked_tasks, *(t for t in settings.names if t in present)]))
    tables = {
        column: cells.pivot(index="label", columns="task", values=column)
        .reindex(index=models.index, columns=tasks)
        .astype(float)
        for column in ("value", "stderr", "between", "seeds")
    }
    absent = tables["value"].isna()
    absent.loc[~models.index.isin(asked.index)] = False
    absent.loc[:, ~absent.columns.isin(asked_tasks)] = False
    return Cells(**tables, models=models.join(about, on="model"), absent=absent)


def _average_seeds(tidy: pd.DataFrame) -> pd.DataFrame:
    """Average the seeds of one cell; anything else that stands twice is refused."""
    for row in tidy[tidy.duplicated([*_CELL, "seed"])].itertuples():
        raise UserError(
            f"There are several scores of {row.label} on {row.task}, {row.protocol}, with"
            " the same seed; expected one. Delete results/scores/harmony.parquet, or mend the file"
            " they were imported from."
        )
    tidy = tidy.assign(squared=_find_errors(tidy) ** 2)
    means = tidy.groupby(_CELL, sort=False, observed=True).agg(
        **{name: (name, "first") for name in _MODEL},
        value=("value", "mean"),
        seeds=("value", "size"),
        between=("value", "var"),
        # The items are the same for all seeds, so their error does not shrink with the seeds.
        squared=("squared", "mean"),
        errors=("squared", "count"),
    )
    within = means["squared"].where(means["errors"] == means["seeds"])
    return means.assign(stderr=np.sqrt(within.astype(float))).reset_index()


def _find_errors(tidy: pd.DataFrame) -> pd.Series:
    """Find standard errors, from the number of items where only that is known and the metric allows it."""
    table = tidy[["value", "n", "stderr"]].astype("Float64").astype(float)
    table["lowest"] = get_metric_minimum(tidy["metric"])
    inferred = table["stderr"].isna() & table["n"].notna() & table["lowest"].notna()
    chosen = table[inferred]
    errors = share_error(chosen["value"], chosen["n"], chosen["lowest"])
    return table["stderr"].mask(inferred, pd.Series(errors, chosen.index))


def floor_grid(protocol: str, raw: Grid, floor: Grid) -> Grid:
    """Take the better of both scores where both are known: what published scores after training look like."""
    direct = floor.values.reindex_like(raw.values)
    both = direct.notna() & raw.values.notna()
    values = raw.values.mask(direct > raw.values, direct).where(both)
    rows = both.any(axis=1) | (raw.models["origin"] == OWN)
    values = values.loc[rows, both.any()]
    errors = raw.errors.floored_by(floor.errors, values)
    return Grid(protocol, errors, raw.models[rows], values.isna())


def main(  # noqa: PLR0913  (files and config values of a job, by name)
    scores: list[Path],
    correlations: Path,
    cells: Path,
    models: Path,
    settings: dict[str, Any],
    known_models: list[dict[str, Any]],
    wanted: Wanted,
    errors: Path | None = None,
    imported: Sequence[Path] = (),
    imports: Sequence[Path] = (),
    released: Sequence[Path] = (),
    attributes: Path | None = None,
    release: Path | None = None,
) -> None:
    """Write the grid's `cells` and `models`.

    `errors` are the shared errors of a run's items, `imported` files of others' scores, `imports` folders of what was
    read of their harnesses, `released` the leaderboard and the cells of the published grid.
    """
    of_grid = GridSettings.of(settings)
    known = add_imported_models([KnownModel(**one) for one in known_models], imports)
    found = read_attributes(attributes, of_grid.grid) if attributes else None
    of_errors = read_known_errors(correlations, errors, released, release, of_grid, known)
    tidy = read_scores(scores, imported, of_grid)
    grids = make_grids(tidy, of_grid, wanted, describe_models(known, found), of_errors)
    write_grids(grids, cells, models)


if "snakemake" in globals():
    run_job(main, snakemake)
