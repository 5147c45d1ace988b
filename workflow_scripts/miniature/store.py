"""Write what is generated as the hub would hold it: files, a card, a manifest last."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from workflow_scripts.core.files import atomic_dir, sha256_file, sha256_text
from workflow_scripts.hub.manifest import seal
from workflow_scripts.miniature.catalogue import ORGANISATION

if TYPE_CHECKING:  # who writes a model need not wait for `datasets`
    from workflow_scripts.miniature.items import Repository

LICENCE = "apache-2.0"
_ABOUT_A_DATASET = """\
Generated for Chorus's miniature world. It has the columns, splits and configurations of the
dataset of this name on the hub and none of its content: every row is invented.
"""


def write_repository(hub: Path, repository: "Repository") -> None:
    """Fill `<hub>/datasets/<org>/<name>`, all of it or nothing."""
    with atomic_dir(hub / "datasets" / repository.name) as folder:
        configs = []
        for name, (features, splits) in repository.configs.items():
            (folder / name).mkdir()
            digests = []
            for split, rows in splits.items():
                path = folder / name / f"{split}-00000-of-00001.parquet"
                pq.write_table(pa.Table.from_pylist(rows, features.arrow_schema), path)
                digests.append(sha256_file(path))
            configs.append(
                {
                    "config_name": name,
                    **({"default": True} if name == repository.default else {}),
                    # The cache of `datasets` would return yesterday's rows under an unchanged card.
                    "description": "sha256:" + sha256_text(" ".join(digests)),
                    "data_files": [
                        {"split": split, "path": f"{name}/{split}-*.parquet"} for split in splits
                    ],
                }
            )
        about = {"license": LICENCE, "configs": configs}
        header = yaml.safe_dump(about, sort_keys=False, allow_unicode=True)
        _write_card(folder, repository.name, header, _ABOUT_A_DATASET)
        _seal(folder, repository.name, kind="dataset", licence=LICENCE)


def finish_model(
    folder: Path,
    name: str,
    text: str,
    *,
    parameters: int,
    architecture: str,
    licence: str = LICENCE,
) -> None:
    """Write the card of a saved model, and its manifest after all of its files."""
    _write_card(folder, f"{ORGANISATION}/{name}", f"license: {licence}\n", text)
    _seal(
        folder,
        f"{ORGANISATION}/{name}",
        kind="model",
        licence=licence,
        parameters=parameters,
        architecture=architecture,
    )


def _seal(folder: Path, repository: str, **facts: Any) -> None:
    seal(folder, source="miniature", repository=repository, revision=None, **facts)


def _write_card(folder: Path, repository: str, header: str, text: str) -> None:
    card = f"---\n{header}---\n\n# {repository}\n\n{text}"
    (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
