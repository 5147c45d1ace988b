"""What two runs must have in common: every result, byte for byte."""

from pathlib import Path

from workflow_scripts.core.records import read_record
from workflow_scripts.core.training_record import read_training_record


def read_results(folder: Path) -> dict[str, bytes]:
    """Read every result by its path but times; of records and outputs all but what may differ between runs."""
    results = {}
    for path in sorted((folder / "results").rglob("*")):
        is_link = ".finished" in path.parts  # links to what is compared by its own name
        if path.is_file() and not is_link and not is_timed(path.relative_to(folder)):
            results[str(path.relative_to(folder))] = read_stable_bytes(path)
    return results


def is_timed(path: Path) -> bool:
    """Tell a result with times, which are never twice the same."""
    has_times = path.stem in (
        "chunking_pruning",
        "chunking_quality",
        "numbers",
    )
    return has_times or "latency" in str(path) or "report" in path.parts


def read_stable_bytes(path: Path) -> bytes:
    if path.suffix == ".json" and {"records", "outputs"} & set(path.parts):
        return read_record(path).serialize_stable()
    if path.suffix == ".json" and path.parent.name == "training":
        record = read_training_record(path)
        return record.model_dump_json(exclude={"volatile", "speed"}).encode()
    return path.read_bytes()
