"""What one study gives to the report: the numbers it names, and the sentences that are told with them."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from workflow_scripts.render.numbers import Number, Numbers

Tables = dict[str, pd.DataFrame]  # by name, those of results/tables that the config has made


@dataclass(frozen=True)
class Study:
    """A chapter; tables and figures whose declarations name its key are shown in it."""

    key: str
    title: str
    numbers: Callable[[Tables], list[Number]]
    tell: Callable[[Numbers], list[str]]
