"""What `snakemake separate` is asked: two models, the scores that have both, and what more scores would take."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.foreign.cells import ImportedCell, cells_of, told
from workflow_scripts.settings.grids import OWN_GRID, grid_inputs
from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import seeds_of
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.studies.harmony.grid_files import GRID
from workflow_scripts.studies.harmony.separate_hours import ModelHours, grid_hours, planners
from workflow_scripts.studies.product import import_folders
from workflow_scripts.studies.ranking.requests import GridRequest, grid_request

# What this run has measured. It is read where it is there, and never made for this.
_GATHERED = ("scores", "errors")


class SeparateGrid(BaseModel):
    """Scores that have both models, where to read them, and the hours by protocol and model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: GridRequest
    files: dict[str, tuple[str, ...]]
    mixed: bool = False  # whether the two models' scores come from different sources
    hours: dict[str, dict[str, ModelHours]] = {}
    imports: dict[str, tuple[str, ...]] = {}  # by origin: who measured what, and what differs


class SeparateRequest(StepRequest):
    first: str
    second: str
    grids: tuple[SeparateGrid, ...]
    seeds: int = 1  # that this run trains each cell with
    unit: str = "hours"

    @property
    def models(self) -> tuple[str, str]:
        return self.first, self.second

    @property
    def protocols(self) -> dict[str, str]:
        """How people call each protocol."""
        return {key: name for one in self.grids for key, name in one.asked.grid.names.items()}

    @property
    def tasks(self) -> dict[str, str]:
        """How people call each task."""
        return {key: name for one in self.grids for key, name in one.asked.names.items()}


def separate_request(settings: Settings) -> SeparateRequest:
    first, second = _names(settings)
    unit, of_models = planners(settings, (first, second))
    return SeparateRequest(
        first=first,
        second=second,
        grids=tuple(
            one.model_copy(update={"hours": grid_hours(one.asked, of_models, settings)})
            for one in _grids(settings, first, second)
        ),
        seeds=len(seeds_of(settings, "harmony", "train_before_test")),
        unit=unit,
    )


def separated_files(settings: Settings) -> list[str]:
    """Files of scores that the answer is made from, but for the run's own."""
    grids = _grids(settings, *_names(settings))
    named = [one.files.get("imported", ()) + one.files["scores"] for one in grids]
    return [path for path in dict.fromkeys(sum(named, ())) if path not in _own_files(settings)]


def _names(settings: Settings) -> tuple[str, str]:
    said = settings.separate
    if said is None:
        raise UserError(
            "separate is null; expected two models, as in"
            ' `snakemake separate --config separate="Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"`.'
        )
    first, second = (name.strip() for name in (said.split(",") if "," in said else said.split()))
    if first == second:
        raise UserError(f"separate names {shown(first)} twice; expected two different models.")
    return first, second


def _own_files(settings: Settings) -> list[str]:
    return [str(GRID[name]) for name in _GATHERED]


def _grids(settings: Settings, first: str, second: str) -> list[SeparateGrid]:
    """Those that have scores of both; where none has, all sources of a run's protocols together."""
    of_us = all(map(Path.is_file, map(Path, _own_files(settings))))
    own = set(settings.harmony.models if of_us else ())
    imported = {path: _models_of([path]) for path in settings.harmony.imported_scores}
    others = {
        name: grid_inputs(grid, Path(settings.workflow_folder))
        for name, grid in settings.grids.items()
        if not grid.run
    }
    models = {name: _models_of(files["scores"]) for name, files in others.items()}
    imports = _imports(settings) if of_us else {}
    of_imports = [{cell.model for cell in cells} for cells in imports.values()]
    everywhere = own.union(*imported.values(), *of_imports, *models.values())
    for name in (first, second):
        if name not in everywhere:
            raise UserError(_unknown(name, everywhere, settings))
    found = [
        SeparateGrid(asked=grid_request(settings, name), files=others[name])
        for name in others
        if {first, second} <= models[name]
    ]
    notes = {
        name: tuple(told(cell for cell in cells if cell.model in (first, second)))
        for name, cells in imports.items()
    }
    run = [own, *imported.values(), *of_imports]
    if any({first, second} <= some for some in run):
        one = _of_run(settings, list(imported), of_us)
        found.insert(0, one.model_copy(update={"imports": notes}))
    if found:
        return found
    alike = [
        name for name in others if set(settings.grids[name].protocols) <= set(get_args(Protocol))
    ]
    together = own.union(*imported.values(), *of_imports, *(models[name] for name in alike))
    if not {first, second} <= together:
        raise UserError(
            f"separate names {shown(first)} and {shown(second)}, which were scored under different protocols;"
            " expected two models of one grid."
        )
    files = [*imported, *(path for name in alike for path in others[name]["scores"])]
    once = {Path(path).resolve(): path for path in reversed(files)}
    one = _of_run(settings, list(once.values())[::-1], of_us, mixed=True)
    return [one.model_copy(update={"imports": notes})]


def _imports(settings: Settings) -> dict[str, tuple[ImportedCell, ...]]:
    """Those that this run has read."""
    return cells_of(list(map(Path, _read_folders(settings))))


def _read_folders(settings: Settings) -> tuple[str, ...]:
    return tuple(path for path in import_folders(settings) if Path(path).is_dir())


def _of_run(
    settings: Settings, imported: list[str], of_us: bool, mixed: bool = False
) -> SeparateGrid:
    files = {
        name: tuple(source(settings)) if callable(source) else (str(source),)
        for name, source in GRID.items()
        if of_us or name not in _GATHERED
    }
    missing = {} if of_us else dict.fromkeys(_GATHERED, ())
    files |= {"imported": tuple(imported), "imports": _read_folders(settings), **missing}
    return SeparateGrid(asked=grid_request(settings, OWN_GRID), files=files, mixed=mixed)


def _models_of(paths: Iterable[str]) -> set[str]:
    """Whom the files have scores of; what else is wrong with them is said where they are read."""
    found = set()
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                found.add((row.get("model") or "") + (row.get("variant") or ""))
    return found


def _unknown(name: str, known: set[str], settings: Settings) -> str:
    if name in settings.harmony.models:
        return (
            f"separate names {shown(name)}, of which this run has no scores yet; run `snakemake harmony`"
            " first, or name a model that has some."
        )
    return (
        f"separate names {shown(name)}, of which there are no scores; expected a model of harmony.models,"
        " of harmony.imported_scores, of imports or of a grid in config/grids"
        f"{hint(name, [*known, *settings.harmony.models])}."
    )
