"""What two runs must have in common: every result, byte for byte."""

from pathlib import Path

from workflow_scripts.core.records import read_record
from workflow_scripts.core.training_record import read_training_record


def results_of(folder: Path) -> dict[str, bytes]:
    """Every result by its path but times; of records and outputs all but what may differ between runs."""
    found = {}
    for path in sorted((folder / "results").rglob("*")):
        kept = ".finished" in path.parts  # links to what is compared by its own name
        if path.is_file() and not kept and not is_timed(path.relative_to(folder)):
            found[str(path.relative_to(folder))] = stable_bytes_of(path)
    return found


def is_timed(path: Path) -> bool:
    """Whether it tells of times, which are never twice the same."""
    tells = path.stem in (
        "chunking_pruning",
        "chunking_quality",
        "numbers",
    )
    return tells or "latency" in str(path) or "report" in path.parts


def stable_bytes_of(path: Path) -> bytes:
    if path.suffix == ".json" and {"records", "outputs"} & set(path.parts):
        return read_record(path).serialize_stable()
    if path.suffix == ".json" and path.parent.name == "training":
        record = read_training_record(path)
        return record.model_dump_json(exclude={"volatile", "speed"}).encode()
    return path.read_bytes()
