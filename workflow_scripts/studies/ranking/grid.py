"""A grid as one matrix per protocol: models by tasks, missing cells missing; for ranks they are estimated.

In the grid of a run other people's scores may stand beside ours, told apart by their origin.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.scores.files import read_theirs
from workflow_scripts.scores.foreign.cells import known_beside
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.tidy import import_all
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.settings.sentences import listed
from workflow_scripts.stats.missing import Completed, complete
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.shares import share_error
from workflow_scripts.studies.ranking.errors import (
    Cells,
    KnownErrors,
    errors_of_grid,
    labelled,
    read_known,
)
from workflow_scripts.studies.ranking.frame import OWN, STUDY
from workflow_scripts.studies.ranking.requests import GridRequest

_CELL = ["label", "task"]


@dataclass(frozen=True)
class Grid:
    """One protocol. Rows are labels: the model's name, with its origin behind it if a run's is another."""

    protocol: str
    errors: ScoreErrors
    models: pd.DataFrame
    """By label: model, variant, origin, family, parameters, kind, and what else the grid knows of them."""
    absent: tuple[tuple[str, str], ...]
    """Label and task of each cell that should be there and is not, in the order of the config."""

    @property
    def values(self) -> pd.DataFrame:
        return self.errors.scores

    @cached_property
    def stderrs(self) -> pd.DataFrame:
        return self.errors.stderrs

    @cached_property
    def unmeasured(self) -> list[str]:
        """Tasks that should be there and that no model has a score on."""
        return list(self.values.columns[self.values.isna().all()])

    @property
    def origins(self) -> str:
        """Where the scores come from, ours first."""
        found = set(self.models.loc[self.values.notna().any(axis=1), "origin"])
        return " ".join(sorted(found, key=lambda origin: (origin != OWN, origin)))

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Values of the tasks that any model has a score on."""
        return self.values.drop(columns=self.unmeasured)

    @cached_property
    def completed(self) -> Completed:
        """Those with what could be estimated of their missing cells, and of missing standard errors."""
        return complete(self.errors.part(self.measured))

    def lacking(self) -> dict[str, list[str]]:
        """By label the tasks of this protocol on which the model has no score."""
        return tasks_of_true(self.values.isna())


def tasks_of_true(cells: pd.DataFrame) -> dict[str, list[str]]:
    """By label the tasks whose cell is true."""
    rows = zip(cells.index, cells.to_numpy(bool), strict=True)
    return {label: list(cells.columns[row]) for label, row in rows}


def knowing_imported(inputs: Inputs, request: GridRequest) -> GridRequest:
    """With the models that the table of models lacks, and who shared their scores knows."""
    models = known_beside(request.models, inputs.get("imports", ()))
    return request.model_copy(update={"models": models})


def read_grids(inputs: Inputs, request: GridRequest) -> dict[str, Grid]:
    """The grid of each protocol, from the scores of a run and files of imported ones."""
    request = knowing_imported(inputs, request)
    attributes = read_attributes(inputs, request.grid)
    return make_grids(
        read_scores(inputs, request), request, read_known(inputs, request), attributes
    )


def read_scores(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    """All scores as they are; their study is the file that they are from, or the run's."""
    grid, metrics = request.grid, request.metrics
    if grid.run:
        theirs = import_all(inputs["imported"], metrics, taken={STUDY})
        return pd.concat([*map(pd.read_parquet, inputs["scores"]), *theirs], ignore_index=True)
    protocols, files = list(grid.protocols), inputs["scores"]
    read = [read_imported(path, metrics, protocols, others=True) for path in files]
    scores = pd.concat(read, ignore_index=True)
    names, known, models = (
        listed(map(str, files)),
        set(scores["protocol"]),
        scores["model"].nunique(),
    )
    problems = [
        f"{names}: there is no score under the protocol {key!r}, which the grid has; expected some."
        for key, one in grid.protocols.items()
        if key not in known and not one.scores_of
    ]
    if grid.models and models != grid.models:
        problems.append(f"{names}: the scores are of {models} models; expected {grid.models}.")
    if problems:
        raise UserError(problems)
    return scores


def read_attributes(inputs: Inputs, grid: GridFile) -> pd.DataFrame | None:
    """By model, under our names for them; None where the grid has no file of them."""
    if grid.attributes is None:
        return None
    path, columns = inputs.one("attributes"), grid.attributes.columns
    expected = f"a header with model, {', '.join(columns.values())}, and a line for each model"
    table = read_theirs(path, expected, sep="\t" if path.suffix == ".tsv" else ",")
    if missing := [name for name in ("model", *columns.values()) if name not in table]:
        raise UserError(f"{path} has no column {missing[0]!r}, which the grid names; expected it.")
    if (twice := table["model"].duplicated()).any():
        at = int(twice.to_numpy().argmax())
        raise UserError(
            f"{path}, line {at + 2}: {table['model'][at]} stands here a second time; expected each model"
            " once."
        )
    dates = (
        table[columns["date"]].dropna().astype(str)
        if "date" in columns
        else pd.Series([], dtype=str)
    )
    if not (fine := dates.str.fullmatch(r"\d{4}-\d{2}(-\d{2})?")).all():
        raise UserError(
            f"{path}, line {fine.idxmin() + 2}: {columns['date']} is {dates[fine.idxmin()]!r}; expected a month or a"
            " day, such as 2023-11 or 2023-11-30."
        )
    return table.set_index("model")[list(columns.values())].set_axis(list(columns), axis=1)


def make_grids(
    tidy: pd.DataFrame,
    request: GridRequest,
    known: KnownErrors,
    attributes: pd.DataFrame | None = None,
) -> dict[str, Grid]:
    """A grid for each protocol that has a score or should have one, floored where its grid says so."""
    tidy = tidy[tidy["subset"].isna() & (tidy["metric"] == tidy["task"].map(request.metrics))]
    tidy = tidy.assign(origin=tidy["study"].where(tidy["study"] != STUDY, OWN))
    tidy["label"] = labelled(tidy) if request.grid.run else tidy["model"] + tidy["variant"]
    about = pd.DataFrame(map(dict, request.models)).set_index("model")
    if attributes is not None:
        about = about.drop(columns=attributes.columns, errors="ignore")
        about = about.join(attributes, how="outer")
        if "parameters_billion" in about:
            about["parameters"] = about["parameters"].fillna(1e9 * about["parameters_billion"])
    # A file may have scores of texts alone.
    found = (set(request.wanted) | set(tidy["protocol"])) or {request.grid.baseline}
    parts = {
        key: _cells(key, tidy[tidy["protocol"] == key], request, about)
        for key in request.grid.protocols
        if key in found
    }
    errors = errors_of_grid(parts, request, known)
    grids: dict[str, Grid] = {}
    for key, protocol in request.grid.protocols.items():
        if key in parts:
            grids[key] = Grid(key, errors[key], parts[key].models, parts[key].absent)
        raw, floor = grids.get(protocol.scores_of or key), grids.get(protocol.floored_by or "")
        if protocol.floored_by and raw and floor:
            floored = floored_grid(key, raw, floor)
            if floored.values.notna().to_numpy().any():
                grids[key] = floored
    return grids


def _cells(protocol: str, tidy: pd.DataFrame, request: GridRequest, about: pd.DataFrame) -> Cells:
    cells = _one_row_per_cell(tidy, request.grid.names[protocol])
    wanted = next((found for one, found in request.wanted.items() if one == protocol), None)
    ids = [CheckpointId.parse(name) for name in wanted.models] if wanted else []
    of_config = list(wanted.tasks) if wanted else []
    rows = {str(id): (id.model, id.variant, OWN) for id in ids}
    for row in cells.itertuples():
        rows.setdefault(row.label, (row.model, row.variant, row.origin))
    found = set(cells["task"])
    tasks = [*of_config, *(t for t in request.names if t in found and t not in of_config)]
    tables = {
        column: cells.pivot(index="label", columns="task", values=column)
        .reindex(index=list(rows), columns=tasks)
        .astype(float)
        for column in ("value", "stderr", "between", "seeds")
    }
    of_origin = {
        origin: [task for task in tasks if task in of_group]
        for origin, group in cells[cells["origin"] != OWN].groupby("origin")["task"]
        for of_group in [set(group)]
    }
    of_origin[OWN] = of_config
    of_us = set(map(str, ids))
    measured = cells[cells["value"].notna()]
    known = set(zip(measured["label"], measured["task"], strict=True))
    absent = [
        (label, task)
        for label, (_, _, origin) in rows.items()
        if origin != OWN or label in of_us
        for task in of_origin[origin]
        if (label, task) not in known
    ]
    models = pd.DataFrame(list(rows.values()), list(rows), ["model", "variant", "origin"])
    return Cells(**tables, models=models.join(about, on="model"), absent=tuple(absent))


def _one_row_per_cell(tidy: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Seeds of one cell become their mean; anything else that stands twice is refused."""
    twice = tidy.duplicated([*_CELL, "seed"])
    if twice.any():
        row = tidy[twice].iloc[0]
        raise UserError(
            f"There are several scores of {row['label']} on {row['task']}, {protocol}, with"
            " the same seed; expected one. Delete results/scores/harmony.parquet, or mend the file"
            " they were imported from."
        )
    tidy = tidy.assign(squared=_known_errors(tidy) ** 2)
    means = tidy.groupby(_CELL, sort=False, observed=True).agg(
        **{name: (name, "first") for name in ("model", "variant", "origin")},
        value=("value", "mean"),
        seeds=("value", "size"),
        between=("value", "var"),
        # The items are the same for all seeds, so their error does not shrink with the seeds.
        squared=("squared", "mean"),
        errors=("squared", "count"),
    )
    within = means["squared"].where(means["errors"] == means["seeds"])
    return means.assign(stderr=np.sqrt(within.astype(float))).reset_index()


def _known_errors(tidy: pd.DataFrame) -> pd.Series:
    """Standard errors, from the number of items where only that is known and the metric allows it."""
    lowest = lowest_of(tidy["metric"])
    n = tidy["n"].astype("Float64").astype(float)
    errors = tidy["stderr"].astype("Float64").astype(float)
    inferred = errors.isna() & n.notna() & lowest.notna()
    if inferred.any():
        value = tidy["value"].astype(float)
        errors[inferred] = share_error(value[inferred], n[inferred], lowest[inferred])
    return errors


def floored_grid(protocol: str, raw: Grid, floor: Grid) -> Grid:
    """The better of both scores where both are known: what published scores after training look like."""
    one = floor.values.reindex_like(raw.values)
    both = one.notna() & raw.values.notna()
    values = raw.values.mask(one > raw.values, one).where(both)
    kept = both.any(axis=1)
    own = raw.models["origin"] == OWN
    rows = [label for label in values.index if kept[label] or own[label]]
    tasks = [task for task in values if both[task].any()]
    values = values.loc[rows, tasks]
    absent = tuple((rows[row], tasks[at]) for row, at in np.argwhere(values.isna().to_numpy()))
    errors = raw.errors.floored_by(floor.errors, values)
    return Grid(protocol, errors, raw.models.loc[rows], absent)
