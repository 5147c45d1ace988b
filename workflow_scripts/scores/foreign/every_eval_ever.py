"""The JSON of Every Eval Ever: checked by its schema, and read, with the items beside it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_file, hash_text
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.scores.foreign.cells import (
    ImportedCell,
    ImportedScore,
    KnownModel,
    Measured,
    get_model_name,
)

VERSION = "0.3.0"
BASE = "base_model"  # in a model's details: its row in the table of models, or its base's
KEYS = ("schema_version", "evaluation_id", "model_info", "evaluation_results")


def check_schema(path: Path, content: Any, kind: str = "eval") -> None:
    """Check a file, or a line of items where `kind` is instance_level_eval."""
    from jsonschema.exceptions import best_match

    error = best_match(_get_validator(kind).iter_errors(content))
    if error is not None:
        where = ".".join(map(str, error.absolute_path)) or "the file"
        raise UserError(f"{path}: {where}: {error.message} (Every Eval Ever {VERSION}).")


@cache
def _get_validator(kind: str) -> Any:
    from jsonschema import Draft7Validator

    path = Path(__file__).parent / f"vendor/every_eval_ever/{kind}.schema.json"
    return Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


def read(
    path: Path, content: dict[str, Any], names: dict[str, Any], tasks: dict[str, Any]
) -> Iterator[Measured]:
    """Read each evaluation of a task, with its parts; scores under varied conditions are left out."""
    check_schema(path, content)
    details = content["model_info"]["additional_details"]
    try:
        checkpoint = CheckpointId.parse(content["model_info"]["id"])
    except UserError:
        checkpoint = CheckpointId(get_model_name(content["model_info"]["id"], path))
    scores: dict[str, list[ImportedScore]] = defaultdict(list)
    settings: dict[str, dict[str, Any]] = {}
    for result in content["evaluation_results"]:
        parameters = result["metric_config"].get("metric_parameters") or {}
        if parameters.keys() & Condition.model_fields.keys():
            continue
        subset = parameters.get("subset")
        task = result["evaluation_name"].removesuffix(f"/{subset}")
        scores[task].append(_read_score(result, parameters))
        if subset is None:
            generation = result.get("generation_config") or {}
            settings.setdefault(task, generation.get("additional_details") or {})
    items = _read_items(path, content)
    for task, keys in settings.items():
        shots = int(keys["num_fewshot"])
        cell = ImportedCell(
            study=keys.get("study", ""),
            file=str(path),
            harness=content["eval_library"]["name"],
            harness_version=content["eval_library"]["version"],
            model=checkpoint.model,
            variant=checkpoint.variant,
            base=KnownModel.model_validate_json(details[BASE]) if BASE in details else None,
            seed=int(keys["seed"]) if "seed" in keys else None,
            commit=details.get("commit") or details.get("sha"),
            dtype=details.get("dtype"),
            task=keys.get("task", task),
            protocol=keys.get("protocol") or ("few_shot" if shots else "direct"),
            shots=shots,
            scores=tuple(scores[task]),
        )
        yield cell, items.get(task, [])


def _read_score(result: dict[str, Any], parameters: dict[str, Any]) -> ImportedScore:
    metric, score = result["metric_config"], result["score_details"]
    uncertainty = score.get("uncertainty") or {}
    return ImportedScore(
        name=metric.get("metric_name") or metric.get("metric_id") or "score",
        subset=parameters.get("subset"),
        value=float(score["score"]),
        stderr=(uncertainty.get("standard_error") or {}).get("value"),
        n=uncertainty.get("num_samples"),
        best_constant=parameters.get("best_constant"),
        chance=parameters.get("chance"),
    )


def _read_items(path: Path, content: dict[str, Any]) -> dict[str, list[Item]]:
    """Read items by evaluation; a line is of one item and metric, and the first of an item says all of it."""
    details = content.get("detailed_evaluation_results")
    if details is None:
        return {}
    file = path.with_name(f"{path.stem}_samples.jsonl")
    if details.get("checksum") != hash_file(file):
        raise UserError(f"{file} was altered: its sha256 is not the one in {path.name}.")
    lines: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with file.open(encoding="utf-8") as texts:
        for line in map(json.loads, texts):
            items = lines.setdefault(line["evaluation_name"], {})
            items.setdefault(line["sample_id"], []).append(line)
    return {task: list(map(_read_item, items.values())) for task, items in lines.items()}


def _read_item(lines: list[dict[str, Any]]) -> Item:
    first = lines[0]
    metadata = first.get("metadata") or {}
    answers = first.get("answer_attribution") or []
    gold = first["input"]["reference"]
    likelihoods = metadata.get("loglikelihoods")
    return Item(
        item=first["sample_id"],
        prompt_sha256=metadata.get("prompt_sha256") or hash_text(first["input"]["raw"]),
        gold=gold[0] if gold else None,
        prediction=answers[-1]["extracted_value"] if answers else None,
        correct=None if "graded" in metadata else bool(first["evaluation"]["is_correct"]),
        subset=metadata.get("subset"),
        cluster=metadata.get("cluster"),
        scores={
            line["evaluation_result_id"]: float(line["evaluation"]["score"])
            for line in lines
            if line.get("evaluation_result_id")
        },
        loglikelihoods=json.loads(likelihoods) if likelihoods else None,
    )
