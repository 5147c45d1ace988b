"""Load tables of test cases from text files: one case per line, cells separated by " | "."""

from pathlib import Path
from typing import Any

import yaml


def load_table(test: str, name: str) -> list[list[str]]:
    """Load the cells of each line of a file in the folder of `test`, without blank lines and comments."""
    text = Path(test).with_name(name).read_text(encoding="utf-8")
    return [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]


def load_cases(test: str, name: str) -> list[tuple[dict[str, Any], list[str]]]:
    """Load config keys as a user writes them, and the texts that their error message must have."""
    rows = load_table(test, name)
    return [(yaml.safe_load(f"{{{override}}}"), texts) for override, *texts in rows]
