"""What two runs must have in common: every result, byte for byte."""

from pathlib import Path

from workflow_scripts.core.records import read_record
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.evaluation.prompts.outputs import read_outputs

TIMED_TABLES = ("chunking_pruning", "cost")


def results_of(folder: Path) -> dict[str, bytes]:
    """Every result by its path but times; of records and outputs all but what may differ between runs."""
    found = {}
    for path in sorted((folder / "results").rglob("*")):
        timed = "latency" in str(path.relative_to(folder)) or path.stem in TIMED_TABLES
        if path.is_file() and not timed:
            found[str(path.relative_to(folder))] = stable_bytes_of(path)
    return found


def stable_bytes_of(path: Path) -> bytes:
    if path.suffix == ".json" and "records" in path.parts:
        return read_record(path).stable_bytes()
    if path.suffix == ".json" and path.parent.name == "training":
        record = read_training_record(path)
        return record.model_dump_json(exclude={"volatile", "speed"}).encode()
    if path.suffix == ".json" and "outputs" in path.parts:
        return read_outputs(path)[0].stable_bytes()
    return path.read_bytes()
