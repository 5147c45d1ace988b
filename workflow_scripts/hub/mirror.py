"""Let unmodified libraries find the hub folder where they would ask the hub.

lm-eval and lighteval call `datasets.load_dataset("org/name", ...)`. Inside `mirror(hub)` that call
reads `<hub>/datasets/org/name` instead, so task definitions stay untouched and results keep the
canonical names.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import MANIFEST, Manifest, read_manifest

# What was read in each block that is open now, the inner ones last, by their folder.
_OPEN: dict[Path, list[dict[str, Manifest]]] = {}


@contextmanager
def mirror(hub: Path) -> Iterator[dict[str, Manifest]]:
    """Redirect `datasets.load_dataset` to the hub folder; give the manifests of what was read.

    The cache of `datasets` knows a local folder by its last name and its patterns alone, neither by
    path nor by content, so `cais/mmlu` and `lighteval/mmlu`, or yesterday's rows and today's, would
    pass for one another. Each block therefore gets a cache of its own, one folder per organisation,
    and throws it away. A block within another of the same folder shares it: who measures several models
    on the same data opens one around them, and each dataset is read once. What was read is told
    to the innermost block alone.
    """
    import datasets

    read: dict[str, Manifest] = {}
    if hub in _OPEN:
        _OPEN[hub].append(read)
        try:
            yield read
        finally:
            _OPEN[hub].pop()
        return
    original, look_into = datasets.load_dataset, datasets.load.dataset_module_factory
    loaded: dict[str, Any] = {}
    read_once = cache(read_manifest)  # MMLU names its one dataset 57 times

    def load_dataset(path: str, name: str | None = None, **options):
        manifest = hub / "datasets" / path / MANIFEST
        if not manifest.is_file():
            raise UserError(
                f"The dataset {path!r} is not in {hub / 'datasets'}; the rule fetch_dataset (or,"
                " in the miniature world, build_world) brings it when a task of the config names it."
            )
        _OPEN[hub][-1][path] = read_once(manifest)
        for unused_offline in ("revision", "trust_remote_code", "cache_dir", "token"):
            options.pop(unused_offline, None)
        key = str((path, name, sorted(options.items(), key=str)))
        if key not in loaded:
            cache_dir = f"{temporary}/{path.split('/')[0]}"
            loaded[key] = original(str(manifest.parent), name, cache_dir=cache_dir, **options)
        # Of several splits it is a dict, and may be taken apart.
        return copy.copy(loaded[key])

    # Modules that did `from datasets import load_dataset` hold a copy of the name.
    holders = [
        vars(module)
        for module in list(sys.modules.values())
        if getattr(module, "__dict__", {}).get("load_dataset") is original
    ]
    with TemporaryDirectory(prefix="chorus-datasets-") as temporary:
        for holder in holders:
            holder["load_dataset"] = load_dataset
        datasets.load.dataset_module_factory = _look_once(look_into)
        _OPEN[hub] = [read]
        try:
            yield read
        finally:
            del _OPEN[hub]
            datasets.load.dataset_module_factory = look_into
            for holder in holders:
                holder["load_dataset"] = original


def read_rows(
    hub: Path, name: str, config: str | None, split: str
) -> tuple[list[dict[str, Any]], Manifest]:
    """Read all rows of one split, and the manifest of their dataset."""
    import datasets

    with mirror(hub) as read:
        rows = datasets.load_dataset(name, config, split=split).to_list()
    return rows, read[name]


def _look_once(look_into: Callable) -> Callable:
    """Look into a folder once and not for each of its configurations.

    MMLU lists 57; reading its card and its files 57 times took a third of a small evaluation.
    """
    modules: dict[str, Any] = {}

    def look_once(path: str, **options):
        key = str((path, sorted(options.items(), key=str)))
        if key not in modules:
            modules[key] = look_into(path, **options)
        # `datasets` takes the arguments of its builder apart.
        return replace(modules[key], builder_kwargs=dict(modules[key].builder_kwargs))

    return look_once
