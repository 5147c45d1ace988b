"""What produced the numbers, gathered from the records: code, packages, machines, models, data."""

from collections import Counter
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.files import write_json
from workflow_scripts.core.records import FailedRecord, Record, read_record_numbers


def gather_provenance(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    write_json(outputs["provenance"], gather(inputs["records"], request))


def gather(records: list[Path], config: dict[str, Any]) -> dict[str, Any]:
    """Gather one dictionary of all records, sorted, so that the same records give the same bytes.

    The items beside the records are not read again: collecting the scores has checked them.
    """
    studies: dict[str, Counter[str]] = {}
    seen: dict[str, set[str]] = {}
    models, datasets, broken = {}, {}, []
    for path in sorted(records):
        record = read_record_numbers(path)
        if isinstance(record, FailedRecord):
            broken.append(record.model_dump())
            continue
        counts = {"items": record.items.n, "records": 1, "tokens": record.cost.tokens}
        studies.setdefault(record.study, Counter()).update(counts)
        models[record.model.id] = record.model.model_dump(include={"commit", "weights_sha256"})
        datasets[record.task.dataset] = record.task.dataset_commit
        for key, values in _describe_run(record).items():
            seen.setdefault(key, set()).update(values)
    return {
        "studies": {name: dict(studies[name]) for name in sorted(studies)},
        "seen": {key: sorted(filter(None, values)) for key, values in seen.items()},
        "models": dict(sorted(models.items())),
        "datasets": dict(sorted(datasets.items())),
        "broken": broken,
        "config": config,
    }


def _describe_run(record: Record) -> dict[str, list[str]]:
    """Return what may differ from record to record; a report with two of a kind says so."""
    provenance, protocol, volatile = record.provenance, record.protocol, record.volatile
    return {
        "commits": [provenance.code_commit or "not from a git checkout"],
        "packages": [f"{name} {version}" for name, version in provenance.packages.items()],
        "hosts": [volatile.host],
        "devices": [record.cost.device],
        "dtypes": [protocol.dtype],
        "attention": [protocol.attention],
        "engines": [protocol.engine or ""],
        "dates": [volatile.started[:10]],
    }


if "snakemake" in globals():
    run_job(gather_provenance, snakemake)
