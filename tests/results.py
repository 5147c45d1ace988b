"""Read the results that two equal runs must have in common, byte for byte."""

from pathlib import Path

from workflow_scripts.core.records import read_record
from workflow_scripts.core.training_record import read_training_record


def read_results(folder: Path) -> dict[str, bytes]:
    """Read all results by path, without timings; records and outputs without the fields that differ between runs."""
    results = {}
    for path in sorted((folder / "results").rglob("*")):
        is_link = ".finished" in path.parts  # hard links to files that are compared anyway
        if path.is_file() and not is_link and not is_timed(path.relative_to(folder)):
            results[str(path.relative_to(folder))] = read_stable_bytes(path)
    return results


def is_timed(path: Path) -> bool:
    """Return whether a result has timings, which differ between runs."""
    has_times = path.stem in ("chunking_quality", "numbers")
    return has_times or "latency" in str(path) or "report" in path.parts


def read_stable_bytes(path: Path) -> bytes:
    if path.suffix == ".json" and {"records", "outputs"} & set(path.parts):
        return read_record(path).serialize_stable().encode()
    if path.suffix == ".json" and path.parent.name == "training":
        record = read_training_record(path)
        return record.model_dump_json(exclude={"volatile", "speed"}).encode()
    return path.read_bytes()
