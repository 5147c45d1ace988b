"""Build a grid from a run's scores or imported files: its scores, their errors, and clipped protocols."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.scores.files import read_external_csv
from workflow_scripts.scores.imported import read_all_imported, read_imported
from workflow_scripts.scores.metric_ranges import get_metric_minimum
from workflow_scripts.scores.tidy import write_parquet
from workflow_scripts.settings.grids import GridAttributes
from workflow_scripts.stats.proportions import compute_fraction_stderr
from workflow_scripts.stats.reruns import RetrainingNoise
from workflow_scripts.studies.ranking.errors import (
    add_item_errors,
    estimate_model_noise,
    estimate_training_errors,
    read_releases,
)
from workflow_scripts.studies.ranking.grid import CELL_COLUMNS
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import OWN, STUDY

_CELL_KEY = ["protocol", "label", "task"]
_SCORE_COLUMNS = ["value", "training", "shared", "own"]
_MODEL_COLUMNS = ["model", "variant", "origin"]
RequestedCells = Mapping[str, Mapping[str, Sequence[str]]]  # by protocol: `models` and `tasks`


def read_score_files(paths: Sequence[Path], settings: GridSettings) -> pd.DataFrame:
    """Read the scores of a run, or of a grid's imported files."""
    if settings.run:
        tables = [pd.read_parquet(path) for path in paths]
    else:
        protocols = list(settings.protocols)
        tables = [read_imported(path, settings.metrics, protocols) for path in paths]
    return pd.concat(tables, ignore_index=True)


def read_scores(
    paths: Sequence[Path], imported: Sequence[Path], settings: GridSettings
) -> pd.DataFrame:
    """Read the scores of a grid and those `imported` into a run, whose file is named in the column `study`."""
    others = read_all_imported(imported, settings.metrics, reserved={STUDY})
    scores = pd.concat([read_score_files(paths, settings), *others], ignore_index=True)
    models = scores["model"].nunique()
    if settings.models not in (None, models):
        files = ", ".join(map(str, paths))
        raise UserError(f"{files}: there are {models} models; expected {settings.models} models.")
    return scores


def add_attributes(models: pd.DataFrame, path: Path, attributes: GridAttributes) -> pd.DataFrame:
    """Add model attributes from the grid's own file, which override others."""
    columns = {"model": "model"} | attributes.columns
    expected = f"a header with {', '.join(columns.values())}, and a line for each model, once"
    table = read_external_csv(path, expected, sep="\t" if path.suffix == ".tsv" else ",")
    table = table[list(columns.values())].set_axis(list(columns), axis=1)
    models = models.drop(columns=attributes.columns, errors="ignore")
    models = models.join(table.set_index("model"), how="outer", validate="1:1")
    if "parameters_billion" in models:
        models["parameters"] = models["parameters"].fillna(1e9 * models["parameters_billion"])
    return models


def select_reported(scores: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """Select the metric that tables report for each task, and add the origin of scores and the labels of models.

    In a run's grid, labels of imported scores include their origin.
    """
    scores = scores[scores["metric"] == scores["task"].map(settings.metrics)]
    origin = scores["study"].replace(STUDY, OWN)
    label = scores["model"] + scores["variant"]
    if settings.run:
        label = label.where(origin == OWN, label + " [" + origin + "]")
    return scores.assign(origin=origin, label=label)


def build_table(
    scores: pd.DataFrame,
    settings: GridSettings,
    requested: RequestedCells,
    models: pd.DataFrame,
    correlations: Mapping[str, float],
    measured: pd.DataFrame | None = None,
    noise: RetrainingNoise | None = None,
) -> pd.DataFrame:
    """Build the table of a grid: a row for each protocol, task and label, with the attributes of the model.

    It has the measured and requested scores of each protocol, clipped if the grid's settings say so, and their errors
    (`add_item_errors` with `correlations` and `measured`, `estimate_training_errors` with `noise`). A protocol without
    a score has one row for each label. `models` has the attributes of models by name.
    """
    scores = select_reported(scores[scores["subset"].isna()], settings)
    means = average_seeds(scores)
    protocols = settings.protocols
    # A file may contain only scores of texts.
    present = {*requested, *means["protocol"]} or {settings.reference_protocol}
    tables: list[pd.DataFrame] = []
    for key in protocols:
        if key in present:
            protocol_means = means[means["protocol"] == key].drop(columns="protocol")
            table = _list_cells(protocol_means, requested.get(key, {}), settings)
            protocol_noise = noise if protocols[key].after_training else None
            training = estimate_training_errors(table, protocol_noise)
            tables.append(table.assign(training=training, protocol=key, stream=len(tables)))
    cells = pd.concat(tables, ignore_index=True).join(models, on="model")
    cells = add_item_errors(cells, correlations, measured)
    by_protocol = dict(iter(cells.groupby("protocol", sort=False)))
    for key, protocol in protocols.items():
        raw = by_protocol.get(protocol.scores_of or key)
        zero_shot = by_protocol.get(protocol.clipped_by or "")
        if raw is not None and zero_shot is not None:
            clipped = clip_cells(raw, zero_shot).assign(protocol=key)
            if clipped["value"].notna().any():
                by_protocol[key] = clipped
    ordered = [by_protocol[key] for key in protocols if key in by_protocol]
    columns = ["protocol", "label", *_MODEL_COLUMNS, *models, *CELL_COLUMNS]
    return pd.concat(ordered, ignore_index=True)[columns]


def _list_cells(
    means: pd.DataFrame, requested: Mapping[str, Sequence[str]], settings: GridSettings
) -> pd.DataFrame:
    """List the cells of a protocol, task by task, with the mean score if there is one.

    `absent` says whether a requested cell has no score.
    """
    ids = [(name, CheckpointId.parse(name)) for name in requested.get("models", ())]
    own = [(name, id.model, id.variant, OWN) for name, id in ids]
    columns = ["label", *_MODEL_COLUMNS]
    models = pd.concat([pd.DataFrame(own, columns=columns, dtype=object), means[columns]])
    requested_tasks = requested.get("tasks", ())
    present = [task for task in settings.task_names if task in set(means["task"])]
    tasks: list[Any] = list(dict.fromkeys([*requested_tasks, *present])) or [None]
    cells = pd.DataFrame({"task": tasks}).merge(models.drop_duplicates("label"), "cross")
    cells = cells.merge(means.drop(columns=_MODEL_COLUMNS), "left", ["label", "task"])
    is_own = cells["label"].isin(requested.get("models", ()))
    is_requested = is_own & cells["task"].isin(requested_tasks)
    return cells.assign(absent=cells["value"].isna() & is_requested)


def average_seeds(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the seeds of each cell; raise UserError for any other duplicate."""
    for row in scores[scores.duplicated([*_CELL_KEY, "seed"])].itertuples():
        raise UserError(
            f"There are several scores of {row.label} on {row.task}, {row.protocol}, with"
            " the same seed; expected one. Delete results/scores/harmony.parquet, or mend the file"
            " they were imported from."
        )
    scores = scores.assign(item_variance=infer_stderrs(scores) ** 2)
    cells = scores.groupby(_CELL_KEY, sort=False, observed=True)
    means = cells[[*_MODEL_COLUMNS, "n", "baseline"]].first()
    means[["value", "seeds", "between"]] = cells["value"].agg(["mean", "size", "var"]).astype(float)
    # All seeds use the same items, so averaging does not reduce the item error.
    variances = cells["item_variance"].agg(lambda variances: variances.mean(skipna=False))
    return means.assign(stderr=np.sqrt(variances.astype(float))).reset_index()


def infer_stderrs(scores: pd.DataFrame) -> pd.Series:
    """Return standard errors; compute missing ones from the number of items if the metric allows it."""
    value, n, stderr = scores[["value", "n", "stderr"]].astype("Float64").astype(float).T.to_numpy()
    inferred = compute_fraction_stderr(value, n, get_metric_minimum(scores["metric"]).to_numpy())
    return pd.Series(np.where(np.isnan(stderr), inferred, stderr), scores.index)


def clip_cells(raw: pd.DataFrame, zero_shot: pd.DataFrame) -> pd.DataFrame:
    """Take the higher of the trained and the zero-shot score where both are known, as in the published scores.

    Other cells are absent; tasks without a known cell, and imported models without one, are left out.
    """
    key = ["label", "task"]
    cells = raw.merge(zero_shot[[*key, *_SCORE_COLUMNS]], "left", key, suffixes=("", "_zero_shot"))
    is_higher = cells["value_zero_shot"] > cells["value"]
    is_known = cells[["value", "value_zero_shot"]].notna().all(axis=1)
    for name in _SCORE_COLUMNS:
        cells[name] = cells[name].mask(is_higher, cells[f"{name}_zero_shot"])
    keeps_model = is_known.groupby(cells["label"]).transform("any") | (cells["origin"] == OWN)
    keeps_task = is_known.groupby(cells["task"], dropna=False).transform("any")
    cells = cells.assign(value=cells["value"].where(is_known), absent=~is_known)
    return cells[keeps_model & keeps_task]


@validate_call
def main(  # noqa: PLR0913  (files and config values of a job, by name)
    scores: list[Path],
    correlations: Path,
    grid: Path,
    settings: GridSettings,
    known_models: list[dict[str, Any]],
    requested: RequestedCells,
    errors: Path | None = None,
    imported: Sequence[Path] = (),
    released: Sequence[Path] = (),
    attributes: Path | None = None,
    release: Path | None = None,
) -> None:
    """Write the grid.

    `correlations` has by task the correlation of two models' correctness over published items, `errors` the errors
    from a run's shared items, `imported` the imported score files, `released` the leaderboard and the cells of the
    published grid, `attributes` and `release` the grid's own files of these names.
    """
    models = pd.DataFrame(known_models).set_index("model")
    if attributes and settings.attributes:
        models = add_attributes(models, attributes, settings.attributes)
    tidy = read_scores(scores, imported, settings)
    releases = None
    if released:
        releases = read_releases(*map(pd.read_csv, released))
    elif release and settings.release:
        protocols = settings.reference_protocol, settings.release.protocol
        releases = read_releases(pd.read_csv(release), tidy, *protocols)
    table = build_table(
        tidy,
        settings,
        requested,
        models,
        pd.read_csv(correlations).set_index("task")["correlation"].to_dict(),
        select_reported(pd.read_parquet(errors), settings) if errors else None,
        estimate_model_noise(*releases, models) if releases else None,
    )
    write_parquet(table, grid)


if "snakemake" in globals():
    run_job(main, snakemake)
