"""One schema for a measurement of somebody else: what is known of it, its scores, and the file of its items."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, TypeAdapter

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import hub_name_problem, name_of_folder
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import ItemsFile, ProtocolName, StrictModel, problems_named

CELLS = "cells.json"


class KnownModel(StrictModel):
    """A row of the table of models, as far as rankings use it."""

    model: str
    family: str
    parameters: int = Field(ge=1)
    kind: str
    tokens_billion: float | None = Field(None, gt=0)


class ImportedScore(StrictModel):
    """As a record's metric, but the number of items may be unknown."""

    name: str
    subset: str | None = None
    condition: None = None
    value: float
    stderr: float | None = Field(None, ge=0)
    n: int | None = Field(None, ge=1)
    best_constant: float | None = None
    chance: float | None = None


class ImportedCell(StrictModel):
    """One model on one task; null is what the file does not say."""

    study: str = Field("", description="By which its scores are told from others")
    file: str
    harness: str
    harness_version: str | None
    model: str
    variant: str = ""
    parameters: int | None = None
    base: KnownModel | None = Field(
        None, description="The model, or what it was made from, as whoever measured it knows that"
    )
    seed: int | None = None
    commit: str | None
    dtype: str | None
    task: str
    protocol: ProtocolName
    shots: int = Field(ge=0)
    scores: tuple[ImportedScore, ...]
    items: ItemsFile | None = None


# A cell, its items, and of each item what there was to choose from.
Measured = tuple[ImportedCell, list[Item], list[tuple[str, ...]]]
_ALL = TypeAdapter(tuple[ImportedCell, ...])


def read_cells(folder: Path) -> tuple[ImportedCell, ...]:
    with problems_named(folder / CELLS):
        return _ALL.validate_json((folder / CELLS).read_bytes())


def told(cells: Iterable[ImportedCell]) -> list[str]:
    """Say who measured these cells."""
    by = dict.fromkeys(
        f"{cell.harness} {cell.harness_version or '(version not recorded)'}" for cell in cells
    )
    return [f"Imported, measured by {' and '.join(by)}."] if by else []


def known_beside(models: Iterable[KnownModel], folders: Iterable[Path]) -> tuple[KnownModel, ...]:
    """Return these models and those of imported cells, as whoever measured them knows them."""
    known = {model.model: model for model in models}
    for folder in folders:
        for cell in read_cells(folder):
            if cell.base is not None:
                known.setdefault(cell.base.model, cell.base)
    return tuple(known.values())


def cells_of(folders: Sequence[Path]) -> dict[str, tuple[ImportedCell, ...]]:
    """Group cells by the name that their scores go by."""
    by_study: dict[str, list[ImportedCell]] = defaultdict(list)
    for folder in folders:
        for cell in read_cells(folder):
            by_study[cell.study].append(cell)
    return {name: tuple(cells) for name, cells in by_study.items()}


def model_name(said: object, path: Path) -> str:
    """Return the name on the hub; that of a folder is made of its path."""
    if not isinstance(said, str) or not said.strip():
        raise UserError(f"{path} names no model; expected its name or its folder.")
    return name_of_folder(said) if hub_name_problem(said) else said


def number_of(value: object) -> float | None:
    """Return a number, or None for the words and blanks that harnesses write in place of one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
