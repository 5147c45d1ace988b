"""A function of the package, by the name that a rule has for it."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

# By the names that a rule has for them, what steps/files.py gives its function beside the request.
InputFiles = Mapping[str, list[Path]]
OutputFiles = Mapping[str, Path]


def named(function: str) -> Callable[..., Any]:
    """Such as evaluation.mmlu.evaluate_mmlu, imported when it is asked for."""
    module, _, name = function.rpartition(".")
    return getattr(import_module(f"workflow_scripts.{module}"), name)
