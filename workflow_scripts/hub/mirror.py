"""Let unmodified libraries find the hub folder where they would ask the hub.

lm-eval and lighteval call `datasets.load_dataset("org/name", ...)`. Inside `mirror(hub)` that call
reads `<hub>/datasets/org/name` instead, so task definitions stay untouched and results keep the
canonical names.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import MANIFEST, Manifest, read_manifest

# The manifests that were read in each open block, the inner ones last, by hub folder.
_OPEN: dict[Path, list[dict[str, Manifest]]] = {}


@contextmanager
def mirror(hub: Path) -> Iterator[dict[str, Manifest]]:
    """Redirect `datasets.load_dataset` to the hub folder; yield the manifests of what is read.

    A block within another of the same folder shares its cache: who measures several models on the same data opens
    one around them, and each dataset is prepared once. The manifests are added to the innermost block alone.
    """
    manifests: dict[str, Manifest] = {}
    blocks = _OPEN.setdefault(hub, [])
    with ExitStack() as stack:
        if not blocks:
            stack.enter_context(_redirect(hub))
        blocks.append(manifests)
        stack.callback(blocks.pop)
        yield manifests


@contextmanager
def _redirect(hub: Path) -> Iterator[None]:
    """Have `datasets` find a dataset of the hub in the hub folder, and prepare it in a cache that is thrown away.

    A folder is looked into once and not for each of its configurations, of which MMLU has 57: that took a third of a
    small evaluation. `datasets` knows a folder by its last name alone, so that `cais/mmlu` and `lighteval/mmlu`
    would pass for one another; here the commit is part of its name in the cache.
    """
    import datasets

    original, cache = datasets.load.dataset_module_factory, datasets.config.HF_DATASETS_CACHE
    modules: dict[str, tuple[Manifest, Any]] = {}

    def find_dataset(path: str, **options: Any) -> Any:
        file = hub / "datasets" / path / MANIFEST
        if not file.is_file():
            raise UserError(
                f"The dataset {path!r} is not in {hub / 'datasets'}; the rule fetch_dataset (or,"
                " in the miniature world, build_world) brings it when a task of the config names it."
            )
        key = str((path, sorted(options.items())))
        if key not in modules:
            modules[key] = read_manifest(file), original(str(file.parent), **options)
        manifest, module = modules[key]
        _OPEN[hub][-1][path] = manifest
        # `datasets` takes the arguments of its builder apart.
        return replace(module, hash=manifest.commit, builder_kwargs=dict(module.builder_kwargs))

    with TemporaryDirectory(prefix="chorus-datasets-") as temporary:
        datasets.load.dataset_module_factory = find_dataset
        datasets.config.HF_DATASETS_CACHE = Path(temporary)
        try:
            yield
        finally:
            datasets.load.dataset_module_factory = original
            datasets.config.HF_DATASETS_CACHE = cache


def read_rows(
    hub: Path, name: str, config: str | None, split: str
) -> tuple[list[dict[str, Any]], Manifest]:
    """Read all rows of one split, and the manifest of their dataset."""
    import datasets

    with mirror(hub) as manifests:
        rows = datasets.load_dataset(name, config, split=split).to_list()
    return rows, manifests[name]
