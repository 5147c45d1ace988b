"""Export records as Every Eval Ever JSON, one file per record.

Trained and untrained models get different evaluation names, so that pooling by model and evaluation does not mix
them.
"""

import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_text, open_atomic_dir, write_json
from workflow_scripts.core.records import Metric, Record, read_records
from workflow_scripts.scores.foreign.every_eval_ever import VERSION
from workflow_scripts.scores.metric_ranges import RANGES, strip_filter
from workflow_scripts.studies.ranking.grid_tables import DIRECT

LOWER_IS_BETTER = ("perplexity", "per_byte", "empty_answers", "truncated_prompts")


def main(records: list[Path], folder: Path) -> None:
    """Write all records except latencies, which are no evaluations."""
    with open_atomic_dir(folder) as target:
        for _, record in read_records(records):
            if record.protocol.name != "latency":
                content = describe_evaluation(record)
                name = uuid.UUID(hex=hash_text(content["evaluation_id"])[:32], version=4)
                path = f"data/chorus-{record.study}/{record.model.id}/{name}.json"
                write_json(target / path, content)


def describe_evaluation(record: Record) -> dict[str, Any]:
    """Build the JSON of a record."""
    task, protocol, model = record.task, record.protocol, record.model
    finished = str(int(datetime.fromisoformat(record.volatile.finished).timestamp()))
    name = f"{record.study}-{protocol.name}-{task.name}-{protocol.dtype}-seed{protocol.seed}"
    is_served = (protocol.engine or "").startswith("served")
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{name}/{model.id}/{finished}",
        "retrieved_timestamp": finished,
        "source_metadata": {
            "source_name": "Chorus",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": task.harness, "version": task.harness_version},
        "model_info": {
            "name": model.id,
            "id": model.id,
            "additional_details": {
                "deployment_type": "externally_managed" if is_served else "self_deployed",
                "model_availability": "unknown" if is_served else "open_weights",
                "commit": model.commit,
                "weights_sha256": model.weights_sha256,
                "dtype": protocol.dtype,
            },
        },
        "evaluation_results": [describe_score(record, metric) for metric in record.metrics],
    }


def describe_score(record: Record, metric: Metric) -> dict[str, Any]:
    """Build the JSON of a score; the evaluation is the task, the protocol unless zero-shot, and the subset."""
    task, protocol = record.task, record.protocol
    parts = [task.name, "" if protocol.name == DIRECT else protocol.name, metric.subset]
    name = strip_filter(metric.name).removesuffix("_macro")
    parameters = metric.model_dump(include={"subset", "best_constant", "chance"}, exclude_none=True)
    if metric.condition:
        parameters |= metric.condition.model_dump(exclude_none=True)
    config = {
        "metric_name": metric.name,
        "lower_is_better": name.endswith(LOWER_IS_BETTER),
        "metric_parameters": parameters,
    }
    if name in RANGES:
        low, high = RANGES[name]
        config |= {"score_type": "continuous", "min_score": low, "max_score": high}
    uncertainty: dict[str, Any] = {"num_samples": metric.n}
    if metric.stderr is not None:
        uncertainty["standard_error"] = {"value": metric.stderr}
    return {
        "evaluation_name": "/".join(filter(None, parts)),
        "source_data": {
            "dataset_name": task.dataset,
            "source_type": "other",
            "additional_details": {"commit": task.dataset_commit, "split": task.split},
        },
        "generation_config": {
            "additional_details": {
                "task": task.name,
                "protocol": protocol.name,
                "num_fewshot": str(task.shots),
                "seed": str(protocol.seed),
            }
        },
        "metric_config": config,
        "score_details": {"score": metric.value, "uncertainty": uncertainty},
    }


if "snakemake" in globals():
    run_job(main, snakemake)
