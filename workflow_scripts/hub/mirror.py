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
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_json, temporary_folder
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
    if around := _OPEN.get(hub):
        around.append(read)
        try:
            yield read
        finally:
            around.pop()
        return
    original = datasets.load_dataset
    reads = [read]
    loaded: dict[tuple[str, str | None, str], Any] = {}
    manifest_of = cache(read_manifest)  # MMLU names its one dataset 57 times

    with temporary_folder("chorus-datasets-") as temporary:

        def load_dataset(path: str, name: str | None = None, **options):
            folder = hub / "datasets" / path
            if not (folder / MANIFEST).is_file():
                raise UserError(
                    f"The dataset {path!r} is not in {hub / 'datasets'}; the rule fetch_dataset (or,"
                    " in the miniature world, build_world) brings it when a task of the config names it."
                )
            reads[-1][path] = manifest_of(folder / MANIFEST)
            for unused_offline in ("revision", "trust_remote_code", "cache_dir", "token"):
                options.pop(unused_offline, None)
            organisation = path.split("/")[0]
            wanted = (path, name, sha256_json({key: str(value) for key, value in options.items()}))
            if wanted not in loaded:
                cached = f"{temporary}/{organisation}"
                loaded[wanted] = original(str(folder), name, cache_dir=cached, **options)
            # Of several splits it is a dict, and may be taken apart.
            return copy.copy(loaded[wanted])

        # Modules that did `from datasets import load_dataset` hold a copy of the name.
        holders = [
            module
            for module in list(sys.modules.values())
            if getattr(module, "__dict__", {}).get("load_dataset") is original
        ]
        for module in holders:
            vars(module)["load_dataset"] = load_dataset
        look_into = datasets.load.dataset_module_factory
        datasets.load.dataset_module_factory = _looked_into_once(look_into)
        _OPEN[hub] = reads
        try:
            yield read
        finally:
            del _OPEN[hub]
            datasets.load.dataset_module_factory = look_into
            for module in holders:
                vars(module)["load_dataset"] = original


def read_rows(
    hub: Path, name: str, config: str | None, split: str
) -> tuple[list[dict[str, Any]], Manifest]:
    """All rows of one split, and the manifest of their dataset."""
    import datasets

    with mirror(hub) as read:
        rows = datasets.load_dataset(name, config, split=split).to_list()
    return rows, read[name]


def _looked_into_once(look_into: Callable) -> Callable:
    """The same, but a folder is looked into once and not for each of its configurations.

    MMLU lists 57; reading its card and its files 57 times took a third of a small evaluation.
    """
    found: dict[tuple[str, str], Any] = {}

    def look_once(path: str, **options):
        key = (path, str(sorted(options.items(), key=str)))
        if key not in found:
            found[key] = look_into(path, **options)
        # `datasets` takes the arguments of its builder apart.
        return replace(found[key], builder_kwargs=dict(found[key].builder_kwargs))

    return look_once
