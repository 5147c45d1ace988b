"""Data of the miniature world that stands in a YAML file beside its module."""

from pathlib import Path
from typing import Any

import yaml


def load_yaml(module_file: str) -> Any:
    """Load the YAML file of a module's name."""
    return yaml.safe_load(Path(module_file).with_suffix(".yaml").read_text(encoding="utf-8"))
