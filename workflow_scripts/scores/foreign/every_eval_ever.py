"""The JSON of Every Eval Ever: held to its schema, and read, with the items beside it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file, sha256_text
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import ProtocolName, problems_named
from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.scores.foreign.measured import ForeignScore, Measured, model_name

VERSION = "0.3.0"
BASE = "base_model"  # in what is said of a model: its row in the table of models, or its base's
_FOLDER = Path(__file__).parent / "vendor/every_eval_ever"
KEYS = ("schema_version", "evaluation_id", "model_info", "evaluation_results")
_VARIED = Condition.model_fields.keys()


def is_every_eval_ever(content: dict[str, Any]) -> bool:
    return all(key in content for key in KEYS)


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
    """One for each evaluation of a task, with its parts; what was varied within it is left out."""
    held_to_schema(path, content)
    if not content["schema_version"].startswith("0.3"):
        raise UserError(
            f"{path}: schema_version is {content['schema_version']}; expected {VERSION}."
        )
    model, library = content["model_info"], content["eval_library"]
    known = model["additional_details"]
    name, variant = _model_and_variant(model["id"], path)
    base, parameters = None, known.get("parameters", "")
    if BASE in known:
        with problems_named(path):
            base = KnownModel.model_validate_json(known[BASE])
    scores: dict[str, dict[str | None, dict[str, ForeignScore]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    of_task: dict[str, dict[str, Any]] = {}
    for result in content["evaluation_results"]:
        metric = result["metric_config"]
        about = metric.get("metric_parameters") or {}
        if not about.keys() & _VARIED:
            task, detail = result["evaluation_name"], result["score_details"]
            part, uncertainty = about.get("subset"), detail.get("uncertainty") or {}
            n = uncertainty.get("num_samples")
            if part is None:
                of_task.setdefault(task, result | {"n": n})
            called = metric.get("metric_name") or metric.get("metric_id") or "score"
            scores[task.removesuffix(f"/{part}")][part][called] = ForeignScore(
                detail["score"],
                (uncertainty.get("standard_error") or {}).get("value"),
                about.get("best_constant"),
                about.get("chance"),
                None if part is None else n,
            )
    items = _items(path, content)
    for task, first in of_task.items():
        asked = (first.get("generation_config") or {}).get("additional_details") or {}
        protocol, seed = asked.get("protocol"), asked.get("seed")
        if not str(asked.get("num_fewshot")).isdecimal():
            raise UserError(
                f"{path}: {task} says not how many examples it was asked with; expected num_fewshot."
            )
        if protocol not in (None, *get_args(ProtocolName)):
            raise UserError(
                f"{path}: {task} has the protocol {protocol!r}; expected {', '.join(get_args(ProtocolName))}."
            )
        yield Measured(
            file=path,
            harness=library["name"],
            version=library["version"],
            model=name,
            variant=variant,
            parameters=int(parameters) if parameters.isdecimal() else None,
            base=base,
            commit=known.get("commit") or known.get("sha"),
            dtype=known.get("dtype"),
            task=asked.get("task", task),
            shots=int(asked["num_fewshot"]),
            told_protocol=protocol,
            study=asked.get("study", ""),
            seed=int(str(seed)) if str(seed).isdecimal() else None,
            scores=scores[task][None],
            parts={part: of for part, of in scores[task].items() if part is not None},
            n=first["n"],
            definition={},
            items=tuple(items.get(task, ())),
            answers=_items_file(path) if items else None,
        )


def _model_and_variant(said: str, path: Path) -> tuple[str, str]:
    try:
        checkpoint = CheckpointId.parse(said)
    except UserError:
        return model_name(said, path), ""
    return checkpoint.model, checkpoint.variant


def _items_file(path: Path) -> Path:
    return path.with_name(f"{path.stem}_samples.jsonl")


def _items(path: Path, content: dict[str, Any]) -> dict[str, list[Item]]:
    """By evaluation; a line is of one item and metric, and the first of an item says all of it."""
    named, file = content.get("detailed_evaluation_results"), _items_file(path)
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
