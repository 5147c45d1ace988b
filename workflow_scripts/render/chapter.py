"""What one study gives to the report: the numbers that it computes, and the prose that is told with them."""

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
    """A chapter; tables and figures whose declarations name its key are shown in it.

    `computed` says of which table which numbers are computed; the file `declared` beside the prose says
    of each how it is printed and what it is.
    """

    key: str
    prose: Path
    computed: Computed

    @property
    def title(self) -> str:
        return read_title(self.prose)

    @property
    def declared(self) -> Path:
        return self.prose.with_name("numbers.tsv")

    def values(self, tables: Tables) -> Values:
        """What can be computed from the tables at hand."""
        found: Values = {}
        for table, compute in self.computed:
            if table in tables:
                found |= compute(tables[table])
        return found
