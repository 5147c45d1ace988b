"""A made-up leaderboard for tests: checks of requests, and records of the rows that were accepted."""

from pathlib import Path

from tests.records import record_fields
from workflow_scripts.core.files import sha256_text, write_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteTables

TASKS = (
    ShownTask(task="sst2", title="SST-2", shots=5, metric="acc", shown_as="acc"),
    ShownTask(task="truth", title="Truth", shots=0, metric="acc", shown_as="mc2"),
)


PUBLISHED = {
    "name": "Somebody's model",
    "task": "truth",
    "metric": "acc",
    "percent": "20.0",
    "items": "400",
    "what": "Of another protocol.",
    "source": "A paper",
}


def asked(*flags: dict, source: str = "huggingface") -> SuiteTables:
    return SuiteTables.of({"tasks": TASKS, "flags": flags, "source": source})


COMMIT = "0" * 40


def entry(name="org/net", precision="float32", *, reason=None, commit=COMMIT, **keys) -> dict:
    """As check_requests writes it; paths are below the working directory."""
    protocol = keys.get("protocol", "few_shot")
    row = f"{name.replace('/', '--')}~{precision}" + (f"~{commit[:12]}" if commit[0] != "0" else "")
    return {
        "file": f"{row}.yaml" if protocol == "few_shot" else f"{row}-{protocol}.yaml",
        "request": {
            "name": name,
            "revision": None,
            "precision": precision,
            "weight_type": "original",
            "model_type": "pretrained",
            "licence": None,
            "note": None,
            "protocol": protocol,
        }
        | keys,
        "row": row,
        "records": {t.task: f"records/{protocol}/{row}/{t.task}.json" for t in TASKS},
        "commit": commit,
        "licence": "mit",
        "parameters": 1_000_000,
        "memory_mb": 3_008,
        "reason": reason,
    }


def measure(
    entry: dict, task: str, right: list[bool], *, stderr=0.1, floor=0.25, chance=None, **item
) -> Path:
    """Write the record of one task of a row, its items right as said."""
    path = Path(entry["records"][task])
    path.parent.mkdir(parents=True, exist_ok=True)
    name = entry["request"]["name"]
    fields = record_fields(study="suite", model=name, task=task, n=len(right))
    fields["model"] = fields["model"].model_copy(
        update={"repository": name.split("@")[0], "commit": entry["commit"]}
    )
    fields["protocol"] = fields["protocol"].model_copy(
        update={"name": entry["request"]["protocol"], "dtype": entry["request"]["precision"]}
    )
    value = sum(right) / len(right)
    fields["metrics"] = (
        Metric(
            name="acc", value=value, stderr=stderr, n=len(right), best_constant=floor, chance=chance
        ),
    )
    items = [
        Item(
            **{
                "item": f"{task}/{at}",
                "prompt_sha256": sha256_text(str(at)),
                "gold": "1",
                "prediction": "1" if good else "0",
                "correct": good,
                "scores": {"acc": float(good)},
                "prompt": f"What is {at}?",
                "choices": ["no", "yes"],
            }
            | item
        )
        for at, good in enumerate(right)
    ]
    write_record(path, items, **fields)
    return path


def break_off(entry: dict, task: str) -> None:
    """What stands in the place of a record whose cell failed."""
    path = Path(entry["records"][task])
    about = {"record": str(path), "reason": "CUDA is gone.", "log": "logs/x.log"}
    write_json(path, {"broken": about})
