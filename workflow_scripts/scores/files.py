"""Read external CSV files, and write ours safely for spreadsheets."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.clean_text import escape_csv
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import open_atomic_path


def read_external_csv(path: Path, expected: str, **options: Any) -> pd.DataFrame:
    """Read a CSV file with pandas; raise UserError if it has no rows."""
    try:
        table = pd.read_csv(path, **options)
    except (OSError, ValueError) as error:  # also pandas' errors and undecodable bytes
        raise UserError(f"{path} cannot be read as a CSV file ({error}).") from None
    if table.empty:
        raise UserError(f"{path} has no rows; expected {expected}.")
    return table


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a CSV file in full precision, with texts escaped so that spreadsheets run no formula."""
    texts = {
        name: frame[name].map(lambda cell: escape_csv(cell) if isinstance(cell, str) else cell)
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name])
    }
    with open_atomic_path(path) as temporary:
        frame.assign(**texts).to_csv(temporary, index=False, lineterminator="\n")
