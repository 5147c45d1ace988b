"""Models and tasks that no table has: found out once, and kept in a table of what was found.

Whoever reads the config without a network, every job of a cluster, finds them there. A row of the table
that people write goes before; a row that was found may be corrected or deleted like any other.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from pydantic import ValidationError

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.settings.sentences import listed
from workflow_scripts.settings.tables import Row, read_table

Cells = dict[str, str]  # of a row, by column


@dataclass(frozen=True)
class LookUp:
    """Who knows what no table says; each gives the cells of a row, or raises a UserError.

    Only the process that was typed has one: those inside jobs may have no network.
    """

    model: Callable[[str, list[str]], Cells]  # a name on the hub, and the families there are
    task: Callable[[str], Cells]  # a name of lm-eval
    runs_code: Callable[[str], bool]  # likewise: whether it runs what a model writes


class Found(Generic[Row]):
    """The table of what was found, and a way to find more."""

    def __init__(self, row_type: type[Row], path: Path, ask: Callable[[str], Cells] | None):
        self._type: type[Row] = row_type
        self._path, self._ask = path, ask
        self._rows: dict[str, Row] = self._read()

    def row(self, name: str) -> Row | None:
        """None where it was not found before and nobody can be asked."""
        if name not in self._rows and self._ask is not None:
            try:
                self._keep(name, self._ask(name))
            except ModuleNotFoundError as error:
                raise UserError(
                    f"{name} is in no table, and to look it up Snakemake needs {error.name} in its own"
                    " environment; install it there, or add a row by hand."
                ) from None
        return self._rows.get(name)

    def _read(self) -> dict[str, Row]:
        if not self._path.is_file():
            return {}
        return read_table(self._type, self._path, may_be_empty=True)

    def _keep(self, name: str, cells: Cells) -> None:
        cells = {column: plain(cell) for column, cell in cells.items()}
        try:
            row = self._type.model_validate(cells)
        except ValidationError as error:
            wrong = [f"{one['loc'][0]} is {one['input']!r}" for one in error.errors()]
            raise UserError(
                f"what is known of {name} makes no row ({listed(wrong)}); add one by hand."
            ) from None
        self._rows = self._read() | {name: row}  # another run may have found others meanwhile
        columns: list[str] = list(self._type.model_fields)
        lines = [
            columns,
            *([_cell(getattr(one, c)) for c in columns] for one in self._rows.values()),
        ]
        write_text(self._path, "".join("\t".join(line) + "\n" for line in lines))
        said = ", ".join(f"{column} {cell}" for column, cell in cells.items() if cell)
        print(f"Found: {said}. It stands in {self._path}; mend it there.", file=sys.stderr)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
