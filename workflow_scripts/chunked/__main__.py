"""Run another program with chunked models registered: python -m workflow_scripts.chunked lm_eval ..."""

import runpy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import workflow_scripts.chunked  # noqa: F401  (registers the chunked architectures)


def _load_separately(load: Callable[..., dict], paths: list[Path], *prefix: str) -> dict[str, Any]:
    """Load lighteval's tasks, skipping modules that cannot be imported; lighteval itself would stop at one."""
    tasks: dict[str, Any] = {}
    for path in paths:
        try:
            tasks |= load([path], *prefix)
        except Exception as error:  # importing a module can raise anything
            reason = f"{type(error).__name__}: {error}"
            print(f"lighteval's tasks of {path.stem} are left out ({reason}).", file=sys.stderr)
    return tasks


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m workflow_scripts.chunked <module> [arguments]")
    del sys.argv[0]
    if sys.argv[0] == "lighteval":
        from lighteval.tasks.registry import Registry

        for name in ("_load_from_files", "_load_from_subdirs"):
            loader = partial(_load_separately, getattr(Registry, name))
            setattr(Registry, name, staticmethod(loader))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
