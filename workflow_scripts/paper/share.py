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

from tqdm import tqdm

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, write_json, write_text
from workflow_scripts.core.ids import CheckpointId, hub_name_problem
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Metric, Record
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.errors import RANGES, bare
from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.scores.foreign.every_eval_ever import BASE, VERSION, held_to_schema
from workflow_scripts.scores.tidy import reported, whole_records
from workflow_scripts.settings.requests import GENERATED
from workflow_scripts.studies.ranking.grid_settings import ModelsRequest

_LOWER = ("perplexity", "per_byte", "empty_answers", "truncated_prompts")


def share(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    """Write all records but latencies, which are times and no evaluations; the folder is whole, or not there."""
    records = [
        (path, record)
        for path, record in whole_records(inputs["records"])
        if record.protocol.name != "latency"
    ]
    if not records:
        raise UserError(
            "There is no record to share; expected a config that measures scores, and a cell that is not broken."
        )
    known = {one.model: one for one in ModelsRequest.of(request).models}
    with atomic_dir(outputs["folder"]) as folder:
        for path, record in tqdm(records, "sharing records"):
            base = known.get(CheckpointId.parse(record.model.id).model)
            _write_evaluation(path, record, base, folder / "every_eval_ever")


def _write_evaluation(path: Path, record: Record, base: KnownModel | None, folder: Path) -> None:
    """Write the record that lies at `path` into a datastore's folder."""
    checkpoint = CheckpointId.parse(record.model.id)
    organisation, _, name = str(checkpoint).partition("/")
    seal = record.volatile.stable_sha256 or record.items.sha256
    stem = str(uuid.UUID(bytes=bytes.fromhex(seal[:32]), version=4))
    target = folder / "data" / f"chorus-{record.study}" / organisation / name / f"{stem}.json"
    content = _evaluation(path, record, base)
    lines = list(_lines(path, record, content))
    if lines:
        items = target.with_name(f"{stem}_samples.jsonl")
        held_to_schema(items, lines[0], "instance_level_eval")
        write_text(items, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines))
        content["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": items.relative_to(folder).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": sha256_file(items),
            "total_rows": len(lines),
        }
    held_to_schema(target, content)
    write_json(target, content)


def _evaluation(path: Path, record: Record, base: KnownModel | None) -> dict[str, Any]:
    started, finished = (
        str(int(datetime.fromisoformat(one).timestamp()))
        for one in (record.volatile.started, record.volatile.finished)
    )
    name = [record.study, record.protocol.name, record.task.name, f"seed{record.protocol.seed}"]
    asked = {
        "additional_details": {
            "study": record.study,
            "task": record.task.name,
            "protocol": record.protocol.name,
            "num_fewshot": str(record.task.shots),
            "seed": str(record.protocol.seed),
            "generation": json.dumps(record.protocol.generation),
        },
    }
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{'-'.join(name)}/{record.model.id}/{finished}",
        "evaluation_timestamp": started,
        "retrieved_timestamp": finished,
        "source_metadata": {
            "source_name": "Chorus",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": record.task.harness,
            "version": record.task.harness_version,
            "additional_details": dict(record.provenance.packages),
        },
        "model_info": _model(record, base),
        "evaluation_results": [_result(record, metric, asked) for metric in record.metrics],
    }


def _model(record: Record, base: KnownModel | None) -> dict[str, Any]:
    served = (record.protocol.engine or "").startswith("served")
    details = {
        "deployment_type": "externally_managed" if served else "self_deployed",
        "model_availability": "unknown" if served else "open_weights",
        "commit": record.model.commit,
        "weights_sha256": record.model.weights_sha256,
        "dtype": record.protocol.dtype,
    }
    if record.model.parameters is not None:
        details["parameters"] = str(record.model.parameters)
    if base is not None:
        details[BASE] = base.model_dump_json()
    if record.training is not None:
        details["trained_on"] = record.task.name
        details["training"] = json.dumps(record.training.keys, sort_keys=True)
    return {
        "name": record.model.id,
        "id": record.model.id,
        "developer": record.model.id.partition("/")[0],
        "additional_details": details,
    }


def evaluation_name(record: Record, subset: str | None = None) -> str:
    """Of a model as it is and without examples the task's own; else also how it was asked."""
    protocol = record.protocol.name
    parts = [record.task.name, *([] if protocol == "direct" else [protocol]), subset]
    return "/".join(one for one in parts if one)


def _result(record: Record, metric: Metric, asked: dict[str, Any]) -> dict[str, Any]:
    name = bare(metric.name)
    bounds = RANGES.get(name.removesuffix("_macro"))
    kind: dict[str, Any] = {}
    if bounds is not None:  # its package takes no continuous score of unknown range
        kind = {"score_type": "continuous", "min_score": bounds[0], "max_score": bounds[1]}
    parameters: dict[str, Any] = {"best_constant": metric.best_constant, "chance": metric.chance}
    if metric.subset is not None:
        parameters["subset"] = metric.subset
    if metric.condition is not None:
        parameters |= metric.condition.model_dump(exclude_none=True)
    ids = [metric.name, *(str(parameters[key]) for key in list(parameters)[2:])]
    uncertainty: dict[str, Any] = {"num_samples": metric.n}
    if metric.stderr is not None:
        uncertainty["standard_error"] = {"value": metric.stderr}
    return {
        "evaluation_result_id": "/".join(ids),
        "evaluation_name": evaluation_name(record, metric.subset),
        "source_data": _source(record),
        "metric_config": {
            "metric_id": name,
            "metric_name": metric.name,
            "lower_is_better": name.removesuffix("_macro").endswith(_LOWER),
            **kind,
            "metric_parameters": parameters,
        },
        "score_details": {"score": metric.value, "uncertainty": uncertainty},
        "generation_config": asked,
    }


def _source(record: Record) -> dict[str, Any]:
    task = record.task
    about: dict[str, Any] = {"dataset_name": task.dataset}
    details = {"commit": task.dataset_commit, "subset": task.subset or ""}
    if record.model.repository.startswith(GENERATED) or hub_name_problem(task.dataset):
        return about | {
            "source_type": "other",
            "additional_details": details | {"split": task.split},
        }
    return about | {
        "source_type": "hf_dataset",
        "hf_repo": task.dataset,
        "hf_split": task.split,
        "samples_number": record.items.n,
        "additional_details": details,
    }


def _lines(path: Path, record: Record, content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line for each score of each item, the first of an item with all that is known of it."""
    main = reported(record)
    if main is None or any(metric.condition for metric in record.metrics):
        return
    for item in read_items(path.with_name(record.items.file)).to_pylist():
        known = {"prompt_sha256": item["prompt_sha256"]}
        known |= {key: item[key] for key in ("subset", "cluster") if item[key] is not None}
        if item["loglikelihoods"] is not None:
            known["loglikelihoods"] = json.dumps(item["loglikelihoods"])
        scores = dict(item["scores"])
        if item["correct"] is None:
            known["graded"] = "neither right nor wrong"
        if not scores:
            known["unscored"] = "its score is that of all items together"
            scores = {main.name: float(item["correct"] or 0)}
        said = item["text"] if item["text"] is not None else item["prediction"]
        answer = {"turn_idx": 0, "source": "output.raw", "extraction_method": record.task.harness}
        for at, (metric, score) in enumerate(scores.items()):
            yield {
                "schema_version": VERSION,
                "evaluation_id": content["evaluation_id"],
                "model_id": record.model.id,
                "evaluation_name": evaluation_name(record),
                "evaluation_result_id": metric,
                "sample_id": item["item"],
                "interaction_type": "single_turn",
                "input": {
                    "raw": item["prompt"] or f"sha256 {item['prompt_sha256']}",
                    "reference": [] if item["gold"] is None else [item["gold"]],
                    "choices": item["choices"],
                },
                "output": {"raw": [] if said is None else [said]},
                "answer_attribution": []
                if item["prediction"] is None
                else [answer | {"extracted_value": item["prediction"], "is_terminal": True}],
                "evaluation": {"score": score, "is_correct": bool(item["correct"])},
                "metadata": None if at else known,
            }
