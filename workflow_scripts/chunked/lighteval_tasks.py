"""lighteval's tasks without those that cannot be imported: one module that fails would stop its program."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

_LOADERS = ("_load_from_files", "_load_from_subdirs")
Loader = Callable[..., dict[str, Any]]


def leave_out_failing() -> None:
    """From now on in this process: a line for each module that is left out, with what it failed of."""
    from lighteval.tasks.registry import Registry

    for name in _LOADERS:
        setattr(Registry, name, staticmethod(partial(_one_by_one, getattr(Registry, name))))


def _one_by_one(load: Loader, paths: list[Path], *prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in paths:
        try:
            found |= load([path], *prefix)
        except Exception as error:  # whatever a module does when it is imported
            said = f"{type(error).__name__}: {error}"
            print(f"lighteval's tasks of {path.stem} are left out ({said}).", file=sys.stderr)
    return found
