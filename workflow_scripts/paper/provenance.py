"""Collect the provenance of the numbers from the records: code, packages, machines, models, data."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from workflow_scripts.core.records import FailedRecord, read_record_numbers


def collect_provenance(records: list[Path], config: dict[str, Any]) -> dict[str, Any]:
    """Collect one sorted dictionary from all records, so that equal records give equal bytes.

    `seen` has all values of the fields that may differ between records, `broken` the failed cells. Items are not read,
    since `collect_scores` has checked them.
    """
    studies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: defaultdict[str, set[str]] = defaultdict(set)
    models = {}
    datasets = {}
    broken = []
    for path in sorted(records):
        record = read_record_numbers(path)
        if isinstance(record, FailedRecord):
            broken.append(record.model_dump())
            continue
        counts = {"items": record.items.n, "records": 1, "tokens": record.cost.tokens}
        studies[record.study].update(counts)
        models[record.model.id] = record.model.model_dump(include={"commit", "weights_sha256"})
        datasets[record.task.dataset] = record.task.dataset_commit
        protocol = record.protocol
        for key, values in {
            "commits": [record.provenance.code_commit or "not from a git checkout"],
            "packages": [f"{name} {v}" for name, v in record.provenance.packages.items()],
            "hosts": [record.volatile.host],
            "devices": [record.cost.device],
            "dtypes": [protocol.dtype],
            "attention": [protocol.attention],
            "engines": [protocol.engine or ""],
            "dates": [record.volatile.started[:10]],
        }.items():
            seen[key].update(values)
    return {
        "studies": dict(sorted(studies.items())),
        "seen": {key: sorted(filter(None, values)) for key, values in seen.items()},
        "models": dict(sorted(models.items())),
        "datasets": dict(sorted(datasets.items())),
        "broken": broken,
        "config": config,
    }
