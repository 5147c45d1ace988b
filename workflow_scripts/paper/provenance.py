"""What produced the numbers, gathered from the records: code, packages, machines, models, data."""

from collections import Counter
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_json
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Broken, read_without_items


def gather_provenance(inputs: InputFiles, config: dict[str, Any], outputs: OutputFiles) -> None:
    write_json(outputs["provenance"], gather(inputs["records"], config))


def gather(records: list[Path], config: dict[str, Any]) -> dict[str, Any]:
    """One dictionary for all records, sorted, so that the same records give the same bytes.

    The items beside the records are not read again: collecting the scores has held them together.
    """
    studies: dict[str, Counter[str]] = {}
    seen: dict[str, set] = {key: set() for key in _SEEN}
    models, datasets, broken = {}, {}, []
    for path in sorted(records):
        record = read_without_items(path)
        if isinstance(record, Broken):
            broken.append(record.model_dump())
            continue
        study = studies.setdefault(record.study, Counter())
        study["records"] += 1
        study["items"] += record.items.n
        study["tokens"] += record.cost.tokens
        models[record.model.id] = (record.model.commit, record.model.weights_sha256)
        datasets[record.task.dataset] = record.task.dataset_commit
        for key, of in _SEEN.items():
            seen[key] |= of(record)
    return {
        "studies": {name: dict(sorted(studies[name].items())) for name in sorted(studies)},
        "seen": {key: sorted(values) for key, values in seen.items()},
        "models": {
            name: {"commit": commit, "weights_sha256": sha}
            for name, (commit, sha) in sorted(models.items())
        },
        "datasets": dict(sorted(datasets.items())),
        "broken": broken,
        "config": config,
    }


# What may differ from record to record; a report with two of a kind says so.
_SEEN = {
    "commits": lambda record: {record.provenance.code_commit or "not from a git checkout"},
    "packages": lambda record: {f"{n} {v}" for n, v in record.provenance.packages.items()},
    "hosts": lambda record: {record.volatile.host},
    "devices": lambda record: {record.cost.device},
    "dtypes": lambda record: {record.protocol.dtype},
    "attention": lambda record: {record.protocol.attention},
    "engines": lambda record: {record.protocol.engine} if record.protocol.engine else set(),
    "dates": lambda record: {record.volatile.started[:10]},
}
