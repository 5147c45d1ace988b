"""Write what is generated as the hub would hold it: files, a card, a manifest last."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from workflow_scripts.core.files import atomic_dir, sha256_file, sha256_text
from workflow_scripts.hub.manifest import Manifest, content_commit, list_files, write_manifest
from workflow_scripts.miniature.items import Repository

LICENCE = "apache-2.0"


def write_repository(hub: Path, repository: Repository) -> None:
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
        files = list_files(folder)
        write_manifest(
            folder,
            Manifest(
                kind="dataset",
                source="miniature",
                repository=repository.name,
                revision=None,
                commit=content_commit(files),
                licence=LICENCE,
                files=files,
            ),
        )


def write_model_manifest(folder: Path, repository: str, licence: str, model) -> None:
    """Write the manifest of a saved model, after all of its files."""
    files = list_files(folder)
    write_manifest(
        folder,
        Manifest(
            kind="model",
            source="miniature",
            repository=repository,
            revision=None,
            commit=content_commit(files),
            licence=licence,
            parameters=model.num_parameters(),
            architecture=type(model).__name__,
            files=files,
        ),
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
