"""Redirect unmodified libraries from the Hugging Face hub to the hub folder.

lm-eval and lighteval call `datasets.load_dataset("org/name", ...)`. Inside `mirror(hub)` that call
reads `<hub>/datasets/org/name` instead, so task definitions are unchanged and results keep the
canonical names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import MANIFEST, Manifest, read_manifest


@contextmanager
def mirror(hub: Path) -> Iterator[dict[str, Manifest]]:
    """Redirect `datasets.load_dataset` to the hub folder; yield the manifests of the datasets that are read.

    Datasets are prepared in a temporary cache. Each folder is scanned once, not once per configuration (MMLU has 57):
    that took a third of a small evaluation. `datasets` identifies a folder by its last path component, so `cais/mmlu`
    and `lighteval/mmlu` would collide; therefore the commit is part of the cache name.
    """
    import datasets

    find_module = datasets.load.dataset_module_factory
    cache = datasets.config.HF_DATASETS_CACHE
    manifests: dict[str, Manifest] = {}
    modules: dict[str, Any] = {}

    def find_dataset(path: str, **options: Any) -> Any:
        file = hub / "datasets" / path / MANIFEST
        if not file.is_file():
            raise UserError(
                f"The dataset {path!r} is not in {hub / 'datasets'}; the rule fetch (or,"
                " in the miniature world, build_world) adds it when a task of the config names it."
            )
        manifest = manifests[path] = read_manifest(file)
        key = str((path, sorted(options.items())))
        module = modules.get(key) or find_module(str(file.parent), **options)
        modules[key] = module
        # `datasets` modifies the builder's arguments, so they are copied.
        return replace(module, hash=manifest.commit, builder_kwargs=dict(module.builder_kwargs))

    with TemporaryDirectory(prefix="chorus-datasets-") as temporary:
        datasets.load.dataset_module_factory = find_dataset
        datasets.config.HF_DATASETS_CACHE = Path(temporary)
        try:
            yield manifests
        finally:
            datasets.load.dataset_module_factory = find_module
            datasets.config.HF_DATASETS_CACHE = cache


def read_rows(
    hub: Path, name: str, config: str | None, split: str
) -> tuple[list[dict[str, Any]], Manifest]:
    """Read all rows of one split and the manifest of the dataset."""
    import datasets

    with mirror(hub) as manifests:
        rows = datasets.load_dataset(name, config, split=split).to_list()
    return rows, manifests[name]
