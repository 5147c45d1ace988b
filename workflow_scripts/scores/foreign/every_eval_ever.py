"""The JSON of Every Eval Ever: held to its schema, and read, with the items beside it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file, sha256_text
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign.cells import (
    ImportedCell,
    ImportedScore,
    KnownModel,
    Measured,
    model_name,
)

VERSION = "0.3.0"
BASE = "base_model"  # in what is said of a model: its row in the table of models, or its base's
_FOLDER = Path(__file__).parent / "vendor/every_eval_ever"
KEYS = ("schema_version", "evaluation_id", "model_info", "evaluation_results")


def held_to_schema(path: Path, content: Any, kind: str = "eval") -> None:
    """`kind` is eval, or instance_level_eval for a line of a file of items."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(content))
    if error is not None:
        where = ".".join(map(str, error.absolute_path)) or "the file"
        raise UserError(
            f"{path}: {where}: {error.message}; expected what the schema of Every Eval Ever {VERSION} says."
        )


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft7Validator

    path = _FOLDER / f"{kind}.schema.json"
    try:
        return Draft7Validator(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(
            f"The schema {path} cannot be read ({error}); expected it as the repository has it."
        ) from None


def read_every_eval_ever(path: Path, content: dict[str, Any]) -> Iterator[Measured]:
    """Read each evaluation of a task, with its parts; what was varied within it is left out."""
    held_to_schema(path, content)
    if not content["schema_version"].startswith("0.3"):
        raise UserError(
            f"{path}: schema_version is {content['schema_version']}; expected {VERSION}."
        )
    model, library = content["model_info"], content["eval_library"]
    known = model["additional_details"]
    try:
        checkpoint = CheckpointId.parse(model["id"])
        name, variant = checkpoint.model, checkpoint.variant
    except UserError:
        name, variant = model_name(model["id"], path), ""
    parameters = known.get("parameters", "")
    scores: dict[str, list[ImportedScore]] = defaultdict(list)
    asked: dict[str, dict[str, Any]] = {}
    for result in content["evaluation_results"]:
        metric, detail = result["metric_config"], result["score_details"]
        about = metric.get("metric_parameters") or {}
        if about.keys() & Condition.model_fields.keys():
            continue
        subset, uncertainty = about.get("subset"), detail.get("uncertainty") or {}
        task = result["evaluation_name"].removesuffix(f"/{subset}")
        score = ImportedScore(
            name=metric.get("metric_name") or metric.get("metric_id") or "score",
            subset=subset,
            value=float(detail["score"]),
            stderr=(uncertainty.get("standard_error") or {}).get("value"),
            n=uncertainty.get("num_samples"),
            best_constant=about.get("best_constant"),
            chance=about.get("chance"),
        )
        scores[task].append(score)
        if subset is None:
            generation = result.get("generation_config") or {}
            asked.setdefault(task, generation.get("additional_details") or {})
    items = _items(path, content)
    for task, settings in asked.items():
        shots, seed = str(settings.get("num_fewshot")), str(settings.get("seed"))
        if not shots.isdecimal():
            raise UserError(
                f"{path}: {task} says not how many examples it was asked with; expected num_fewshot."
            )
        cell = ImportedCell(
            study=settings.get("study", ""),
            file=str(path),
            harness=library["name"],
            harness_version=library["version"],
            model=name,
            variant=variant,
            parameters=int(parameters) if parameters.isdecimal() else None,
            base=KnownModel.model_validate_json(known[BASE]) if BASE in known else None,
            seed=int(seed) if seed.isdecimal() else None,
            commit=known.get("commit") or known.get("sha"),
            dtype=known.get("dtype"),
            task=settings.get("task", task),
            protocol=settings.get("protocol") or ("few_shot" if int(shots) else "direct"),
            shots=int(shots),
            scores=tuple(scores[task]),
        )
        yield cell, items.get(task, []), []


def _items(path: Path, content: dict[str, Any]) -> dict[str, list[Item]]:
    """By evaluation; a line is of one item and metric, and the first of an item says all of it."""
    named = content.get("detailed_evaluation_results")
    file = path.with_name(f"{path.stem}_samples.jsonl")
    if named is None:
        return {}
    if not file.is_file():
        raise UserError(f"{file} is missing; expected it beside {path.name}, which names it.")
    if named.get("hash_algorithm") == "sha256" and named.get("checksum") != sha256_file(file):
        raise UserError(f"{file} was altered: its sha256 is not the one in {path.name}.")
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    try:
        with file.open(encoding="utf-8") as lines:
            for text in lines:
                line = json.loads(text)
                found[line["evaluation_name"]][line["sample_id"]].append(line)
        return {task: [_item(lines) for lines in of.values()] for task, of in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{file} is no whole file of items ({type(error).__name__}: {error})."
        ) from None


def _item(lines: list[dict[str, Any]]) -> Item:
    first = lines[0]
    known = first.get("metadata") or {}
    answers = first.get("answer_attribution") or []
    gold = first["input"]["reference"]
    return Item(
        item=first["sample_id"],
        prompt_sha256=known.get("prompt_sha256") or sha256_text(first["input"]["raw"]),
        gold=gold[0] if gold else None,
        prediction=answers[-1]["extracted_value"] if answers else None,
        correct=None if "graded" in known else bool(first["evaluation"]["is_correct"]),
        subset=known.get("subset"),
        cluster=known.get("cluster"),
        scores={
            line["evaluation_result_id"].partition("/")[0]: float(line["evaluation"]["score"])
            for line in lines
            if "unscored" not in (line.get("metadata") or {}) and line.get("evaluation_result_id")
        },
        loglikelihoods=json.loads(known["loglikelihoods"]) if "loglikelihoods" in known else None,
    )
