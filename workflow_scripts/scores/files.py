"""Tables that somebody else wrote."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.errors import UserError


def read_theirs(path: Path, expected: str, **how: Any) -> pd.DataFrame:
    """A CSV file as pandas reads it; nobody means to hand in one without a row, so that is an error."""
    try:
        table = pd.read_csv(path, **how)
    except pd.errors.EmptyDataError:
        raise UserError(f"{path} is empty; expected {expected}.") from None
    except (OSError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise UserError(f"{path} cannot be read as a CSV file ({error}).") from None
    if table.empty:
        raise UserError(f"{path} has no line below its header; expected {expected}.")
    return table
