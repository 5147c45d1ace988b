"""CSV files: those that somebody else wrote, and ours, which somebody else will open."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.clean_text import escape_csv
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path


def read_external_csv(path: Path, expected: str, **how: Any) -> pd.DataFrame:
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


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """In full precision; of texts none is a formula. `render.frames` reads them as they were."""
    texts = {
        name: frame[name].map(lambda one: escape_csv(one) if isinstance(one, str) else one)
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name])
    }
    with atomic_path(path) as temporary:
        frame.assign(**texts).to_csv(temporary, index=False, lineterminator="\n")
