"""Write what is generated as the hub would hold it: files, a card, a manifest last."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from workflow_scripts.core.files import atomic_dir, sha256_file, sha256_text
from workflow_scripts.hub.manifest import seal

if TYPE_CHECKING:  # who writes a model need not wait for `datasets`
    from workflow_scripts.miniature.items import Repository

LICENCE = "apache-2.0"


def write_repository(hub: Path, repository: "Repository") -> None:
    """Fill `<hub>/datasets/<org>/<name>`, all of it or nothing."""
    with atomic_dir(hub / "datasets" / repository.name) as folder:
        configs = []
        for name, config in repository.configs.items():
            (folder / name).mkdir()
            digests = []
            for split, rows in config.splits.items():
                path = folder / name / f"{split}-00000-of-00001.parquet"
                pq.write_table(pa.Table.from_pylist(rows, config.features.arrow_schema), path)
                digests.append(sha256_file(path))
            configs.append(
                {
                    "config_name": name,
                    **({"default": True} if name == repository.default else {}),
                    # The cache of `datasets` would return yesterday's rows under an unchanged card.
                    "description": "sha256:" + sha256_text(" ".join(digests)),
                    "data_files": [
                        {"split": split, "path": f"{name}/{split}-*.parquet"}
                        for split in config.splits
                    ],
                }
            )
        _write_card(folder, repository.name, configs)
        seal(
            folder,
            kind="dataset",
            source="miniature",
            repository=repository.name,
            revision=None,
            licence=LICENCE,
        )


def write_model_manifest(
    folder: Path, repository: str, licence: str, *, parameters: int, architecture: str
) -> None:
    """Write the manifest of a saved model, after all of its files."""
    seal(
        folder,
        kind="model",
        source="miniature",
        repository=repository,
        revision=None,
        licence=licence,
        parameters=parameters,
        architecture=architecture,
    )


def _write_card(folder: Path, name: str, configs: list[dict]) -> None:
    header = yaml.safe_dump(
        {"license": LICENCE, "configs": configs}, sort_keys=False, allow_unicode=True
    )
    text = (
        f"---\n{header}---\n\n# {name}\n\n"
        "Generated for Chorus's miniature world. It has the columns, splits and configurations of the\n"
        "dataset of this name on the hub and none of its content: every row is invented.\n"
    )
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")
