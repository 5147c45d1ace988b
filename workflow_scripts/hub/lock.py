"""config/hub.lock.tsv: the commit each model and dataset was resolved to, obeyed by later runs.

The Snakefile reads it each time it is parsed, so nothing heavy is imported here.
"""

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.core.ids import hub_name_problem
from workflow_scripts.core.named import InputFiles, OutputFiles

if TYPE_CHECKING:
    from workflow_scripts.hub.manifest import Manifest

HEADER = ("kind", "repository", "commit")
KINDS = ("dataset", "model")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def read_lock(path: Path) -> dict[tuple[str, str], str]:
    """(kind, repository) -> commit; empty where there is no lock yet."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UserError(
            f"{path} is not UTF-8 text; delete it, and `snakemake lock_hub` with your config writes it"
            " again."
        ) from None
    header, *rows = text.removesuffix("\n").split("\n")
    if header != "\t".join(HEADER):
        raise UserError(
            f"{path}, line 1: {header!r} is not the header; expected {', '.join(HEADER)}, separated by tabs."
        )
    commits: dict[tuple[str, str], str] = {}
    problems = []
    for line, row in enumerate(rows, start=2):
        fields = tuple(row.split("\t"))
        if problem := _row_problem(fields):
            problems.append(f"{path}, line {line}: {problem}.")
        else:
            kind, repository, commit = fields
            if (kind, repository) in commits:
                problems.append(f"{path}, line {line}: the {kind} {repository} has a row already.")
            commits[kind, repository] = commit
    if problems:
        raise UserError(problems)
    return commits


def write_lock(path: Path, manifests: Iterable["Manifest"]) -> None:
    """Set the rows of these manifests and keep the others, which other configs may rely on.

    The miniature world has no commits to freeze; its manifests are passed over.
    """
    commits = read_lock(path) | {
        (manifest.kind, manifest.repository): manifest.commit
        for manifest in manifests
        if manifest.source == "huggingface"
    }
    rows = [HEADER, *((*key, commits[key]) for key in sorted(commits))]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def lock_hub(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Freeze the commit of every fetched model and dataset; rows of other repositories stay as they are."""
    if not inputs["manifests"]:
        raise UserError(
            "There is nothing to lock: this config fetches nothing from the hub. Name the one that does,"
            " for instance `snakemake lock_hub --configfile config/paper.yaml`."
        )
    from workflow_scripts.hub.manifest import read_manifest

    write_lock(Path(request["lock"]), map(read_manifest, inputs["manifests"]))


def departures(lock: Path, hub: Path, named: Collection[str] = ()) -> list[str]:
    """One sentence per folder of the hub that holds another commit than the one it is locked at.

    `named` is the command line: a manifest it names is being mended.
    """
    sentences = []
    for (kind, repository), commit in read_lock(lock).items():
        path = hub / f"{kind}s" / repository / "manifest.json"
        if not path.is_file() or str(path) in named:
            continue
        try:
            present = json.loads(path.read_text(encoding="utf-8"))["commit"]
        except (ValueError, KeyError, TypeError):
            sentences.append(f"{path} is not a manifest; delete it to have it fetched again.")
            continue
        if present != commit:
            sentences.append(
                f"{path.parent} holds commit {present}, but {lock} says {commit}: add"
                f" `--forcerun {path}` to your command to fetch the locked one and make again what"
                " depends on it, or delete that row, and the target lock_hub locks what is there."
            )
    return sentences


def _row_problem(fields: tuple[str, ...]) -> str | None:
    if len(fields) != len(HEADER):
        return f"expected {len(HEADER)} fields separated by tabs, found {len(fields)}"
    kind, repository, commit = fields
    if kind not in KINDS:
        return f"the kind {kind!r} is unknown; expected {' or '.join(KINDS)}"
    if problem := hub_name_problem(repository):
        return f"{repository!r} is not a repository: {problem}"
    if not _COMMIT.fullmatch(commit):
        return f"{commit!r} is not a commit; expected 40 hexadecimal digits in lower case"
    return None
