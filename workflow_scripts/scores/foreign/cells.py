"""What is known of each imported cell beside its numbers: who measured it, and where its task is another than ours."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, TypeAdapter

from workflow_scripts.core.records import ProtocolName, StrictModel

CELLS = "cells.json"


class KnownModel(StrictModel):
    """A row of the table of models, as far as rankings use it."""

    model: str
    family: str
    parameters: int = Field(ge=1)
    kind: str
    tokens_billion: float | None = Field(None, gt=0)


class ImportedCell(StrictModel):
    """What a file of somebody else says of one measurement; null is what it does not say."""

    study: str = Field(description="By which its scores are told from others")
    file: str = Field(description="In the imported folder")
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
    shots: int
    differs: tuple[str, ...] = Field(description="Where its task is another than ours")


_ALL = TypeAdapter(tuple[ImportedCell, ...])


def read_cells(folder: Path) -> tuple[ImportedCell, ...]:
    return _ALL.validate_json((folder / CELLS).read_bytes())


def told(cells: Iterable[ImportedCell]) -> list[str]:
    """Who measured these cells, and of each task what differs, each sentence once."""
    cells = list(cells)
    by = dict.fromkeys(
        f"{one.harness} {one.harness_version or '(version not recorded)'}" for one in cells
    )
    tasks = dict.fromkeys(f"{one.task}: {'; '.join(one.differs)}." for one in cells if one.differs)
    return [f"Imported, measured by {' and '.join(by)}.", *tasks] if cells else []


def known_beside(models: Iterable[KnownModel], folders: Iterable[Path]) -> tuple[KnownModel, ...]:
    """These, and others that imported cells are of, as whoever measured them knows them."""
    known = {one.model: one for one in models}
    for cell in (cell for folder in folders for cell in read_cells(folder)):
        if cell.base is not None:
            known.setdefault(cell.base.model, cell.base)
    return tuple(known.values())


def cells_of(folders: Sequence[Path]) -> dict[str, tuple[ImportedCell, ...]]:
    """By the name that their scores go by."""
    found: dict[str, list[ImportedCell]] = defaultdict(list)
    for cell in (cell for folder in folders for cell in read_cells(folder)):
        found[cell.study].append(cell)
    return {name: tuple(cells) for name, cells in found.items()}
