"""Read and write config/hub.lock.tsv: the commit of each model and dataset that later runs must use.

The Snakefile reads it each time it is parsed, so this module has no slow imports.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import read_json, write_text
from workflow_scripts.settings.names import locate_file
from workflow_scripts.settings.tables import HubName, TableRow, read_table

if TYPE_CHECKING:
    from workflow_scripts.hub.manifest import Manifest


class LockRow(TableRow):
    """The locked commit of a model or dataset."""

    kind: Literal["dataset", "model"]
    repository: HubName
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.repository


def read_lock(path: Path) -> dict[tuple[str, str], str]:
    """Read (kind, repository) -> commit; empty if there is no lock file."""
    rows = read_table(LockRow, path) if path.exists() else {}
    return {key: row.commit for key, row in rows.items()}


def find_locked_commit(lock: str | None, kind: str, repository: str) -> str | None:
    """Return the commit of a repository in the lock file that the config names, or None."""
    if lock is None:
        return None
    return read_lock(locate_file(lock)).get((kind, repository))


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
            "There is nothing to lock: this config fetches nothing from the hub. Pass one that does,"
            " for instance `snakemake lock_hub --configfile config/paper.yaml`."
        )
    write_lock(Path(lock), map(read_manifest, manifests))


def find_lock_conflicts(lock: Path, hub: Path) -> Iterator[str]:
    """Describe each manifest of the hub folder whose commit is not the locked one."""
    for (kind, repository), commit in read_lock(lock).items():
        path = hub / f"{kind}s" / repository / "manifest.json"
        if path.is_file() and (read_json(path) or {}).get("commit") != commit:
            yield (
                f"{path} is not of the commit {commit} that {lock} has: delete this file to fetch that commit and"
                " rerun the jobs that depend on it, or delete the row and run `snakemake lock_hub` to lock the"
                " commit of this file."
            )


if "snakemake" in globals():
    run_job(main, snakemake)
