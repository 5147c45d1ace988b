"""Read the scores of Every Eval Ever's JSON."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.scores.foreign.cells import (
    CellWithItems,
    ImportedCell,
    ImportedScore,
    TaskFields,
    TaskNames,
    get_model_name,
)

VERSION = "0.3.0"
KEYS = ("schema_version", "evaluation_id", "model_info", "evaluation_results")


def read(
    path: Path, content: dict[str, Any], names: TaskNames, tasks: TaskFields
) -> Iterator[CellWithItems]:
    """Read the scores of each evaluation and its subsets, without those under varied conditions."""
    details = content["model_info"]["additional_details"]
    try:
        checkpoint = CheckpointId.parse(content["model_info"]["id"])
    except UserError:
        checkpoint = CheckpointId(get_model_name(content["model_info"]["id"]))
    scores: dict[str, list[ImportedScore]] = defaultdict(list)
    settings: dict[str, dict[str, Any]] = {}
    for result in content["evaluation_results"]:
        parameters = result["metric_config"].get("metric_parameters") or {}
        if parameters.keys() & Condition.model_fields.keys():
            continue
        evaluation = result["evaluation_name"].removesuffix(f"/{parameters.get('subset')}")
        scores[evaluation].append(_read_score(result, parameters))
        settings[evaluation] = result["generation_config"]["additional_details"]
    for evaluation, keys in settings.items():
        cell = ImportedCell(
            harness=content["eval_library"]["name"],
            harness_version=content["eval_library"]["version"],
            model=checkpoint.model,
            variant=checkpoint.variant,
            commit=details.get("commit"),
            dtype=details.get("dtype"),
            task=keys.get("task", evaluation),
            shots=keys["num_fewshot"],
            scores=tuple(scores[evaluation]),
            **{name: keys[name] for name in ("seed", "protocol") if name in keys},
        )
        yield cell, []


def _read_score(result: dict[str, Any], parameters: dict[str, Any]) -> ImportedScore:
    metric, score = result["metric_config"], result["score_details"]
    uncertainty = score.get("uncertainty") or {}
    return ImportedScore(
        name=metric["metric_name"],
        subset=parameters.get("subset"),
        value=score["score"],
        stderr=(uncertainty.get("standard_error") or {}).get("value"),
        n=uncertainty.get("num_samples"),
        best_constant=parameters.get("best_constant"),
        chance=parameters.get("chance"),
    )
