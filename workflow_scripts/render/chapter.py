"""A study's chapter of the report: the numbers that it computes, and the text template that prints them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.prose import read_title

Tables = dict[str, pd.DataFrame]  # by name, the tables that exist in results/tables
Computed = tuple[tuple[str, Callable[[pd.DataFrame], Values]], ...]


@dataclass(frozen=True)
class Study:
    """A chapter of the report, identified by its `key` in rules/paper.smk.

    `computed` pairs each table with the function that computes its numbers.
    """

    key: str
    prose: Path
    computed: Computed

    @property
    def title(self) -> str:
        return read_title(self.prose)

    def values(self, tables: Tables) -> Values:
        """Compute the values of the tables that exist."""
        values: Values = {}
        for table, compute in self.computed:
            if table in tables:
                values |= compute(tables[table])
        return values
