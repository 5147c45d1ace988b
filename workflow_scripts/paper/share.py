"""Write records as the JSON of Every Eval Ever: a file a record, with its items beside it, a line a score.

What was trained first is an evaluation of another name than what was not: nobody who pools by model and evaluation
mixes the two.
"""

import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, sha256_text, write_json, write_text
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Metric, Record
from workflow_scripts.scores.errors import RANGES, bare
from workflow_scripts.scores.foreign.every_eval_ever import BASE, VERSION, check_schema
from workflow_scripts.scores.tidy import read_records

LOWER_IS_BETTER = ("perplexity", "per_byte", "empty_answers", "truncated_prompts")


def share(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write all records but latencies, which are times and no evaluations."""
    records = read_records(inputs["records"])
    shared = [(path, record) for path, record in records if record.protocol.name != "latency"]
    if not shared:
        raise UserError("There is no record to share.")
    known = {model["model"]: json.dumps(model) for model in request["models"]}
    with atomic_dir(outputs["folder"]) as target:
        for path, record in shared:
            content = describe_evaluation(record)
            checkpoint = CheckpointId.parse(record.model.id)
            if checkpoint.model in known:
                content["model_info"]["additional_details"][BASE] = known[checkpoint.model]
            data = target / f"every_eval_ever/data/chorus-{record.study}" / record.model.id
            stem = uuid.UUID(hex=sha256_text(content["evaluation_id"])[:32], version=4)
            lines = list(list_lines(record, path, content["evaluation_id"]))
            if lines:
                items = data / f"{stem}_samples.jsonl"
                check_schema(items, lines[0], "instance_level_eval")
                texts = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
                write_text(items, "".join(texts))
                content["detailed_evaluation_results"] = {
                    "format": "jsonl",
                    "file_path": items.relative_to(target / "every_eval_ever").as_posix(),
                    "hash_algorithm": "sha256",
                    "checksum": sha256_file(items),
                    "total_rows": len(lines),
                }
            check_schema(data / f"{stem}.json", content)
            write_json(data / f"{stem}.json", content)


def describe_evaluation(record: Record) -> dict[str, Any]:
    """Describe a record without its items."""
    task, protocol, model = record.task, record.protocol, record.model
    finished = str(int(datetime.fromisoformat(record.volatile.finished).timestamp()))
    name = f"{record.study}-{protocol.name}-{task.name}-{protocol.dtype}-seed{protocol.seed}"
    settings = {
        "study": record.study,
        "task": task.name,
        "protocol": protocol.name,
        "num_fewshot": str(task.shots),
        "seed": str(protocol.seed),
    }
    served = (protocol.engine or "").startswith("served")
    details = {
        "deployment_type": "externally_managed" if served else "self_deployed",
        "model_availability": "unknown" if served else "open_weights",
        "commit": model.commit,
        "weights_sha256": model.weights_sha256,
        "dtype": protocol.dtype,
    }
    if model.parameters is not None:
        details["parameters"] = str(model.parameters)
    if record.training is not None:
        details["trained_on"] = task.name
    data: dict[str, Any] = {"dataset_name": task.dataset, "source_type": "other"}
    data["additional_details"] = {"commit": task.dataset_commit, "split": task.split}
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
        "eval_library": {
            "name": task.harness,
            "version": task.harness_version,
        },
        "model_info": {
            "name": model.id,
            "id": model.id,
            "developer": model.id.partition("/")[0],
            "additional_details": details,
        },
        "evaluation_results": [
            {
                "evaluation_name": get_name(record, metric.subset),
                "source_data": data,
                "generation_config": {"additional_details": settings},
                **describe_score(metric),
            }
            for metric in record.metrics
        ],
    }


def get_name(record: Record, subset: str | None = None) -> str:
    """Return the task's own name, and how it was asked if not directly."""
    protocol = record.protocol.name.replace("direct", "")
    return "/".join(filter(None, [record.task.name, protocol, subset]))


def describe_score(metric: Metric) -> dict[str, Any]:
    name = bare(metric.name).removesuffix("_macro")
    condition = metric.condition.model_dump(exclude_none=True) if metric.condition else {}
    if metric.subset is not None:
        condition["subset"] = metric.subset
    config: dict[str, Any] = {
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
    """List a line for each score of each item, the first of an item with all that is known of it."""
    if any(metric.condition for metric in record.metrics):
        return
    for item in read_items(path.with_name(record.items.file)).to_pylist():
        keys = ("prompt_sha256", "subset", "cluster")
        metadata = {key: item[key] for key in keys if item[key] is not None}
        if item["loglikelihoods"] is not None:
            metadata["loglikelihoods"] = json.dumps(item["loglikelihoods"])
        if item["correct"] is None:
            metadata["graded"] = "neither right nor wrong"
        prediction = item["prediction"]
        output = item["text"] if item["text"] is not None else prediction
        answer = {
            "turn_idx": 0,
            "source": "output.raw",
            "extraction_method": record.task.harness,
            "extracted_value": prediction,
            "is_terminal": True,
        }
        line = {
            "schema_version": VERSION,
            "evaluation_id": evaluation_id,
            "model_id": record.model.id,
            "evaluation_name": get_name(record),
            "sample_id": item["item"],
            "interaction_type": "single_turn",
            "input": {
                "raw": item["prompt"] or f"sha256 {item['prompt_sha256']}",
                "reference": [] if item["gold"] is None else [item["gold"]],
                "choices": item["choices"],
            },
            "output": {"raw": [] if output is None else [output]},
            "answer_attribution": [] if prediction is None else [answer],
        }
        is_correct = bool(item["correct"])
        # Without scores of its own an item has a line all the same: the score is that of all items together.
        scores = [{"evaluation_result_id": name, "score": score} for name, score in item["scores"]]
        for number, score in enumerate(scores or [{"score": float(is_correct)}]):
            evaluation = {"score": score.pop("score"), "is_correct": is_correct}
            yield (
                line
                | score
                | {
                    "evaluation": evaluation,
                    "metadata": None if number else metadata,
                }
            )


if "snakemake" in globals():
    run_job(share, snakemake)
