"""A study's chapter of the report: the numbers that it computes, and the template of prose that uses them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.prose import read_title

Tables = dict[str, pd.DataFrame]  # by name, those of results/tables that the config has made
Computed = tuple[tuple[str, Callable[[pd.DataFrame], Values]], ...]


@dataclass(frozen=True)
class Study:
    """Describe a chapter, named by its `key` in rules/paper.smk.

    `computed` has by table the function that computes its numbers.
    """

    key: str
    prose: Path
    computed: Computed

    @property
    def title(self) -> str:
        return read_title(self.prose)

    def values(self, tables: Tables) -> Values:
        """Compute the values of the tables that there are."""
        values: Values = {}
        for table, compute in self.computed:
            if table in tables:
                values |= compute(tables[table])
        return values
