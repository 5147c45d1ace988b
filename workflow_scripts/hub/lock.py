"""Read and write config/hub.lock.tsv: the commit of each model and dataset that later runs must use.

The Snakefile reads it each time it is parsed, so this module has no slow imports.
"""

import csv
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import read_json, write_text
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.tables import HubName, TableRow

if TYPE_CHECKING:
    from workflow_scripts.hub.manifest import Manifest


class LockRow(TableRow):
    """The locked commit of a model or dataset."""

    kind: Literal["dataset", "model"]
    repository: HubName
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


def read_lock(path: Path) -> dict[tuple[str, str], str]:
    """Read (kind, repository) -> commit; empty if there is no lock file."""
    if not path.exists():
        return {}
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    commits: dict[tuple[str, str], str] = {}
    for line, cells in enumerate(rows, start=2):
        row = validate(LockRow, cells, f"{path}, line {line}: ")
        if (row.kind, row.repository) in commits:
            raise UserError(f"{path}, line {line}: {row.repository} is there a second time.")
        commits[row.kind, row.repository] = row.commit
    return commits


def find_locked_commit(lock: str | None, kind: str, repository: str) -> str | None:
    """Return the commit of a repository in the lock file that the config names, or None."""
    path = find_file(lock, Path(__file__).parents[2]) if lock else None
    return read_lock(path).get((kind, repository)) if path else None


def write_lock(path: Path, manifests: Iterable["Manifest"]) -> None:
    """Update the rows of these manifests and keep the others, which other configs may use.

    Manifests of the miniature world are skipped, since it has no commits.
    """
    commits = read_lock(path)
    for manifest in manifests:
        if manifest.source == "huggingface":
            commits[manifest.kind, manifest.repository] = manifest.commit
    rows = [tuple(LockRow.model_fields), *((*key, commits[key]) for key in sorted(commits))]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def main(manifests: list[Path], lock: str) -> None:
    """Lock the commit of every fetched model and dataset; rows of other repositories do not change."""
    from workflow_scripts.hub.manifest import read_manifest

    if not manifests:
        raise UserError(
            "There is nothing to lock: this config fetches nothing from the hub. Name the one that does,"
            " for instance `snakemake lock_hub --configfile config/paper.yaml`."
        )
    write_lock(Path(lock), map(read_manifest, manifests))


def find_lock_conflicts(lock: Path, hub: Path, named: Collection[str] = ()) -> list[str]:
    """Describe each folder of the hub folder that holds another commit than the locked one.

    `named` are the command line's arguments: manifests among them are about to be fetched again.
    """
    problems = []
    for (kind, repository), commit in read_lock(lock).items():
        path = hub / f"{kind}s" / repository / "manifest.json"
        if not path.is_file() or str(path) in named:
            continue
        present = (read_json(path) or {}).get("commit")
        if present != commit:
            problems.append(
                f"{path.parent} holds commit {present}, but {lock} says {commit}: add"
                f" `--forcerun {path}` to your command to fetch the locked one and make again what"
                " depends on it, or delete that row, and the target lock_hub locks what is there."
            )
    return problems


if "snakemake" in globals():
    run_job(main, snakemake)
