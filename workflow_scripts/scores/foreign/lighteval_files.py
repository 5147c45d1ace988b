"""Read lighteval's results_*.json, and its details, Parquet files in a folder beside."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign.cells import (
    ImportedCell,
    ImportedScore,
    Measured,
    get_model_name,
)

KEYS = ("config_general", "results", "config_tasks")


def read(
    path: Path, content: dict[str, Any], names: dict[str, dict[str, str]], _: dict[str, Any]
) -> Iterator[Measured]:
    """Read each task; of a known one the parts, such as subjects, are its items' subsets.

    Only of those is it known that lighteval's names with one beginning (mmlu:anatomy, arc:easy) are of one task.
    """
    general = content["config_general"]
    config = general.get("model_config") or {}
    version = general.get("lighteval_sha")
    parts: dict[tuple[str, int], list[str]] = {}
    for key in content["results"]:
        name, _, shots = key.rpartition("|")
        if name and not name.endswith(("all", "_average")):
            whole = name.partition(":")[0]
            parts.setdefault(
                (whole if whole in names.get("lighteval", ()) else name, int(shots)), []
            ).append(key)
    for (task, shots), keys in parts.items():
        items = {key: _read_details(path, key, len(keys) > 1) for key in keys}
        if len(keys) > 1 and not all(items.values()):
            raise UserError(
                f"{path}: {task} has parts without details; expected the folder details beside the folder"
                " results (--save-details)."
            )
        cell = ImportedCell(
            file=str(path),
            harness="lighteval",
            harness_version=None if version == "?" else version or None,  # "?" of a package
            model=get_model_name(config.get("model_name") or general.get("model_name"), path),
            commit=general.get("model_sha") or None,
            dtype=config.get("dtype") or general.get("model_dtype") or None,
            task=task,
            protocol="few_shot" if shots else "direct",
            shots=shots,
            scores=tuple(_read_scores(content["results"], items)),
        )
        yield cell, [item for key in keys for item in items[key]]


def _read_scores(
    results: dict[str, dict[str, float]], items: dict[str, list[Item]]
) -> Iterator[ImportedScore]:
    """Yield the scores of a task, in which each question counts the same, and of its parts."""
    total = sum(map(len, items.values()))
    weights = {key: len(items[key]) / total if total else 1.0 for key in items}
    for name in results[next(iter(items))]:
        if name.endswith("_stderr"):
            continue
        values = {key: results[key][name] for key in items}
        errors: dict[str, Any] = {key: results[key].get(f"{name}_stderr") for key in items}
        is_known = None not in errors.values()
        yield ImportedScore(
            name=name,
            value=sum(weights[key] * values[key] for key in items),
            stderr=math.hypot(*(weights[key] * errors[key] for key in items)) if is_known else None,
            n=total or None,
        )
        for key in items if len(items) > 1 else ():
            yield ImportedScore(
                name=name,
                subset=_get_part(key),
                value=values[key],
                stderr=errors[key],
                n=len(items[key]),
            )


def _get_part(key: str) -> str:
    """Return the part of a task that a key names, such as its subject."""
    return key.rpartition("|")[0].partition(":")[2]


def _read_details(path: Path, key: str, is_part: bool) -> list[Item]:
    """Read the questions of one part; each stands there once for each way of asking."""
    import pyarrow.parquet as pq

    date = path.stem.removeprefix("results_")
    before, _, after = f"{path.parent}/".rpartition("/results/")
    file = Path(before) / "details" / after / date / f"details_{key}_{date}.parquet"
    if not file.is_file():
        return []
    part = _get_part(key)
    by_item: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(file).to_pylist():
        name = f"{part or key.rpartition('|')[0]}/{row['doc']['id']}"
        by_item.setdefault(name, []).append(row)
    return [_read_item(name, part if is_part else None, rows) for name, rows in by_item.items()]


def _read_item(name: str, subset: str | None, rows: list[dict[str, Any]]) -> Item:
    doc = rows[0]["doc"]
    scores = {
        metric: float(value)
        for row in rows
        for metric, value in row["metric"].items()
        if isinstance(value, int | float)
    }
    answers = [row["model_response"] for row in rows]
    texts = [answer["text"][0] for answer in answers if answer.get("text")]
    likelihoods = [answer["logprobs"] for answer in answers if answer.get("logprobs")]
    right, choices = doc["gold_index"], doc.get("choices") or []
    gold = right[0] if isinstance(right, list) else right
    return Item(
        item=name,
        prompt_sha256=sha256_text(doc["query"]),
        gold=choices[gold].strip() if gold is not None and gold < len(choices) else None,
        prediction=texts[-1].strip() if texts else None,
        correct={0.0: False, 1.0: True}.get(next(iter(scores.values()), -1.0)),
        subset=subset,
        scores=scores,
        loglikelihoods=likelihoods[-1] if likelihoods else None,
        text=texts[-1] if texts else None,
        choices=choices or None,
    )
