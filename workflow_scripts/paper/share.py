"""Export records as Every Eval Ever JSON: one file per record, and one line per item and score in a JSONL file.

Trained and untrained models get different evaluation names, so that pooling by model and evaluation does not mix
them.
"""

import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    hash_file,
    hash_text,
    open_atomic_dir,
    write_json,
    write_text,
)
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Metric, Record, read_records
from workflow_scripts.scores.errors import RANGES, strip_filter
from workflow_scripts.scores.foreign.every_eval_ever import VERSION

LOWER_IS_BETTER = ("perplexity", "per_byte", "empty_answers", "truncated_prompts")


def main(records: list[Path], folder: Path) -> None:
    """Write all records except latencies, which are no evaluations."""
    evaluations = [
        (path, record)
        for path, record in read_records(records)
        if record.protocol.name != "latency"
    ]
    if not evaluations:
        raise UserError("There is no record to share.")
    with open_atomic_dir(folder) as target:
        for path, record in evaluations:
            write_evaluation(record, path, target / "every_eval_ever")


def write_evaluation(record: Record, path: Path, root: Path) -> None:
    """Write one record, read from `path`, and its items."""
    content = describe_evaluation(record)
    name = uuid.UUID(hex=hash_text(content["evaluation_id"])[:32], version=4)
    file = root / f"data/chorus-{record.study}" / record.model.id / f"{name}.json"
    lines = [
        json.dumps(line, ensure_ascii=False) + "\n"
        for line in list_lines(record, path, content["evaluation_id"])
    ]
    if lines:
        items = file.with_name(f"{file.stem}_samples.jsonl")
        write_text(items, "".join(lines))
        content["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": items.relative_to(root).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hash_file(items),
            "total_rows": len(lines),
        }
    write_json(file, content)


def describe_evaluation(record: Record) -> dict[str, Any]:
    """Build the JSON of a record without its items."""
    task, protocol, model = record.task, record.protocol, record.model
    finished = str(int(datetime.fromisoformat(record.volatile.finished).timestamp()))
    name = f"{record.study}-{protocol.name}-{task.name}-{protocol.dtype}-seed{protocol.seed}"
    is_served = (protocol.engine or "").startswith("served")
    evaluated = {
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
    }
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
            "developer": model.id.partition("/")[0],
            "additional_details": {
                "deployment_type": "externally_managed" if is_served else "self_deployed",
                "model_availability": "unknown" if is_served else "open_weights",
                "commit": model.commit,
                "weights_sha256": model.weights_sha256,
                "dtype": protocol.dtype,
            },
        },
        "evaluation_results": [
            {"evaluation_name": get_name(record, metric.subset)}
            | evaluated
            | describe_score(metric)
            for metric in record.metrics
        ],
    }


def get_name(record: Record, subset: str | None = None) -> str:
    """Return the evaluation name: the task, the protocol unless zero-shot, and the subset."""
    protocol = record.protocol.name.replace("direct", "")
    return "/".join(filter(None, [record.task.name, protocol, subset]))


def describe_score(metric: Metric) -> dict[str, Any]:
    name = strip_filter(metric.name).removesuffix("_macro")
    condition = metric.condition.model_dump(exclude_none=True) if metric.condition else {}
    if metric.subset is not None:
        condition["subset"] = metric.subset
    config = {
        "metric_name": metric.name,
        "lower_is_better": name.endswith(LOWER_IS_BETTER),
        "metric_parameters": metric.model_dump(include={"best_constant", "chance"}) | condition,
    }
    if name in RANGES:
        low, high = RANGES[name]
        config |= {"score_type": "continuous", "min_score": low, "max_score": high}
    uncertainty: dict[str, Any] = {"num_samples": metric.n}
    if metric.stderr is not None:
        uncertainty["standard_error"] = {"value": metric.stderr}
    return {
        "evaluation_result_id": "/".join([metric.name, *map(str, condition.values())]),
        "metric_config": config,
        "score_details": {"score": metric.value, "uncertainty": uncertainty},
    }


def list_lines(record: Record, path: Path, evaluation_id: str) -> Iterator[dict[str, Any]]:
    """Yield one line per score of each item."""
    if any(metric.condition for metric in record.metrics):
        return
    for item in read_items(path).to_pylist():
        prediction = item["prediction"]
        output = prediction if item["text"] is None else item["text"]
        answer = {
            "turn_idx": 0,
            "source": "output.raw",
            "extraction_method": record.task.harness,
            "extracted_value": prediction,
            "is_terminal": True,
        }
        for name, score in item["scores"]:
            yield {
                "schema_version": VERSION,
                "evaluation_id": evaluation_id,
                "model_id": record.model.id,
                "evaluation_name": get_name(record),
                "sample_id": item["item"],
                "interaction_type": "single_turn",
                "input": {
                    "raw": f"sha256 {item['prompt_sha256']}",
                    "reference": [] if item["gold"] is None else [item["gold"]],
                    "choices": item["choices"],
                },
                "output": {"raw": [] if output is None else [output]},
                "answer_attribution": [] if prediction is None else [answer],
                "evaluation_result_id": name,
                "evaluation": {"score": score, "is_correct": bool(item["correct"])},
            }


if "snakemake" in globals():
    run_job(main, snakemake)
