"""Look for damaged files: everything that has a checksum is read and held against it.

What is damaged is set aside under a hidden name, so that the next run makes it again, and nothing else.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.metadata import remove_damaged_metadata
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import is_altered
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Broken, read_record, read_without_items
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.hub.manifest import MANIFEST, read_manifest, verify

_SAMPLES = "samples.json"  # of training.samples
_ASIDE = ".{}.damaged"
_IMPORTED = "records.json"  # in a folder of results/imports


def verify_files(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Say what is whole; a UserError names what is not, once that is set aside."""
    hub, results = Path(request["hub"]), Path("results")
    notes = list(remove_damaged_metadata(Path(".snakemake")))
    damaged = find_damage(hub, results)
    for path in damaged:
        set_aside(path)
    if damaged or notes:
        said = [problem for problems in damaged.values() for problem in problems] + notes
        again = "is set aside; the next run that needs it makes it again."
        raise UserError([*said, *(f"{path} {again}" for path in damaged)])
    files, records = counted(hub, results)
    print(
        f"Every file that has a checksum is as it was written: {files:,} files of the hub, of"
        f" checkpoints and of samples, {records:,} records with their items."
    )


def find_damage(hub: Path, results: Path) -> dict[Path, list[str]]:
    """What is wrong, by the file that has to be made again: a manifest or a record."""
    found = {}
    for path, check in _checks(hub, results):
        try:
            check(path)
        except UserError as error:
            found[path] = error.problems
    return found


def counted(hub: Path, results: Path) -> tuple[int, int]:
    """What was checked and is whole: files of models, datasets, checkpoints and samples, and records."""
    found = [path for path, _ in _checks(hub, results)]
    manifests = [path for path in found if path.name == MANIFEST]
    samples = [path for path in found if path.name == _SAMPLES]
    files = sum(len(read_manifest(path).files) for path in manifests)
    files += sum(len(_sums(path)) for path in samples)
    cells = [read_without_items(path) for path in _visible(results / "records", "*.json")]
    broken = sum(isinstance(cell, Broken) for cell in cells)
    return files, len(found) - len(manifests) - len(samples) - broken


def set_aside(path: Path) -> None:
    """Hide a record with its items; of a folder its manifest alone: the rest is checked when it is made again.

    What was imported is one folder to Snakemake, and hidden as one.
    """
    if path.name == _IMPORTED:
        path.parent.replace(path.parent.with_name(_ASIDE.format(path.parent.name)))
        return
    for part in (path, path.with_suffix(".parquet")):
        if part.is_file() and (part == path or path.name != MANIFEST):
            part.replace(part.with_name(_ASIDE.format(part.name)))


def _checks(hub: Path, results: Path) -> Iterator[tuple[Path, Callable[[Path], object]]]:
    for folder in (hub, results / "checkpoints"):
        for path in _visible(folder, MANIFEST):
            yield path, _check_folder
    for path in _visible(results / "samples", _SAMPLES):
        yield path, _check_samples
    for path in _visible(results / "records", "*.json"):
        yield path, read_record  # a broken cell's is whole too
    for path in _visible(results / "training", "*.json"):
        yield path, read_training_record
    for path in _visible(results / "outputs", "*.json"):
        yield path, _check_outputs
    for path in _visible(results / "imports", _IMPORTED):
        yield path, _check_imported


def _check_folder(manifest: Path) -> None:
    if problems := verify(manifest.parent, read_manifest(manifest)):
        raise UserError(problems)


def _check_samples(summary: Path) -> None:
    _check_files(summary, _sums(summary))


def _check_outputs(facts: Path) -> None:
    _check_files(facts, _told(facts, lambda told: _sum_of(told["outputs"])))


def _check_imported(records: Path) -> None:
    each = _told(records, lambda told: [_sum_of(record["items"]) for record in told])
    _check_files(records, {name: digest for one in each for name, digest in one.items()})


def _check_files(beside: Path, sums: dict[str, str]) -> None:
    checked = (is_altered(beside.with_name(name), digest) for name, digest in sums.items())
    if problems := [problem for problem in checked if problem]:
        raise UserError(problems)


def _sums(summary: Path) -> dict[str, str]:
    return _told(summary, lambda told: told["sha256"])


def _sum_of(part: dict[str, str]) -> dict[str, str]:
    return {part["file"]: part["sha256"]}


def _told(path: Path, pick: Callable[[Any], Any]) -> Any:
    try:
        return pick(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} does not say what files were made with it ({error}).") from None


def _visible(folder: Path, pattern: str) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob(pattern)
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
