"""A made-up leaderboard for tests: checks of requests, and records of the rows that were accepted."""

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


def make_entry(name="org/net", precision="float32", *, reason=None, commit=COMMIT, **keys) -> dict:
    """As check_requests writes it; paths are below the working directory."""
    protocol = keys.get("protocol", "few_shot")
    row = f"{name.replace('/', '--')}~{precision}~{commit[:12]}"
    request = {"name": name, "precision": precision, "protocol": protocol, "note": None}
    return {
        "file": f"{row}-{protocol}.yaml",
        "request": request | {"weight_type": "original", "model_type": "pretrained"},
        "row": row,
        "records": {
            task["task"]: f"records/{protocol}/{row}/{task['task']}.json" for task in TASKS
        },
        "commit": commit,
        "licence": "mit",
        "parameters": 1_000_000,
        "reason": reason,
    }


def measure(entry: dict, task: str, right: list[bool], stderr: float = 0.1) -> None:
    """Write the record of one task of a row, its items right as said."""
    path, request, n = Path(entry["records"][task]), entry["request"], len(right)
    fields = record_fields(study="suite", model=request["name"], task=task, n=n)
    fields["model"] = fields["model"].model_copy(update={"commit": entry["commit"]})
    update = {"name": request["protocol"], "dtype": request["precision"]}
    fields["protocol"] = fields["protocol"].model_copy(update=update)
    value = sum(right) / n
    floor = {"best_constant": 0.25, "chance": None}
    fields["metrics"] = (Metric(name="acc", value=value, stderr=stderr, n=n, **floor),)
    items = [
        replace(item, prediction=str(int(good)), correct=good, scores={"acc": float(good)})
        for item, good in zip(make_items(golds=("1",) * n), right, strict=True)
    ]
    write_record(path, items, **fields)


def measure_all(entry: dict, right: list[bool]) -> dict:
    for task in TASKS:
        measure(entry, task["task"], right)
    return entry


def break_off(entry: dict, task: str) -> None:
    """Write what stands in the place of a record whose cell failed."""
    path = Path(entry["records"][task])
    write_json(path, {"broken": {"record": str(path), "reason": "CUDA is gone.", "log": "x.log"}})
