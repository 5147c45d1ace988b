"""Tables of cases that lie beside the tests that read them: a line each, with bars between the cells."""

from pathlib import Path
from typing import Any

import yaml


def load_table(test: str, name: str) -> list[list[str]]:
    """Load the cells of each line of the file, blank lines and comments left out."""
    text = Path(test).with_name(name).read_text(encoding="utf-8")
    return [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]


def load_cases(test: str, name: str) -> list[tuple[dict[str, Any], list[str]]]:
    """Load keys as a user writes them, and the texts that the sentence about them must hold."""
    rows = load_table(test, name)
    return [(yaml.safe_load(f"{{{override}}}"), texts) for override, *texts in rows]
