"""Generate a fake leaderboard: checked requests, and records of accepted rows."""

from dataclasses import replace
from pathlib import Path

from tests.records import make_items, record_fields
from workflow_scripts.core.files import write_json
from workflow_scripts.core.records import Metric, write_record

TASKS = [
    {"task": "sst2", "title": "SST-2", "shots": 5, "metric": "acc", "shown_as": "acc"},
    {"task": "truth", "title": "Truth", "shots": 0, "metric": "acc", "shown_as": "mc2"},
]
COMMIT = "0" * 40


def make_entry(name="org/net", precision="float32", *, reason=None, commit=COMMIT) -> dict:
    """Make an entry of checks.json with paths relative to the working directory."""
    row = f"{name.replace('/', '--')}~{precision}~{commit[:12]}"
    request = {"name": name, "precision": precision, "note": None}
    return {
        "file": f"{row}.yaml",
        "request": request | {"weight_type": "original", "model_type": "pretrained"},
        "row": row,
        "records": {task["task"]: f"{row}/{task['task']}.json" for task in TASKS},
        "commit": commit,
        "licence": "mit",
        "parameters": 1_000_000,
        "reason": reason,
    }


def measure(entry: dict, right: list[bool], tasks=("sst2", "truth")) -> dict:
    """Write a row's records for some tasks; `right` says which answers are correct."""
    request, n = entry["request"], len(right)
    for task in tasks:
        fields = record_fields(study="suite", model=request["name"], task=task)
        fields["model"] = fields["model"].model_copy(update={"commit": entry["commit"]})
        update = {"name": "few_shot", "dtype": request["precision"]}
        fields["protocol"] = fields["protocol"].model_copy(update=update)
        score = {"value": sum(right) / n, "stderr": 0.1, "n": n}
        fields["metrics"] = (Metric(name="acc", best_constant=0.25, chance=None, **score),)
        items = [
            replace(item, prediction=str(int(good)), correct=good, scores={"acc": float(good)})
            for item, good in zip(make_items(golds=("1",) * n), right, strict=True)
        ]
        write_record(Path(entry["records"][task]), items, **fields)
    return entry


def fail(entry: dict, task: str) -> None:
    """Write a failed cell in place of a record."""
    path = Path(entry["records"][task])
    write_json(path, {"broken": {"record": str(path), "reason": "CUDA is gone.", "log": "x.log"}})
