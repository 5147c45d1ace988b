"""lighteval's results_*.json, and its details, Parquet files in a folder beside."""

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore, Measured, number_of

KEYS = ("config_general", "results", "config_tasks")


def model_of_lighteval(content: dict[str, Any]) -> Any:
    general = content["config_general"]
    return (general.get("model_config") or {}).get("model_name") or general.get("model_name")


def read_lighteval(
    path: Path, content: dict[str, Any], model: str, known: Container[str]
) -> Iterator[Measured]:
    """Read each task; of a known one the parts, such as subjects, are its items' subsets.

    Only of those is it known that lighteval's names with one beginning (mmlu:anatomy, arc:easy) are of one task.
    """
    general = content["config_general"]
    version = general.get("lighteval_sha")
    parts: dict[tuple[str, int], list[str]] = {}
    for key in content["results"]:
        name, _, shots = key.rpartition("|")
        if name and not name.endswith(("all", "_average")):
            whole, name = name.split(":")[0].split("|")[-1], name.split("|")[-1]
            parts.setdefault((whole if whole in known else name, int(shots)), []).append(key)
    for (task, shots), keys in parts.items():
        details = {key: _read_details(path, key, len(keys) > 1) for key in keys}
        if len(keys) > 1 and not all(details.values()):
            raise UserError(
                f"{path}: {task} has {len(keys)} parts and no details of all of them; expected the folder"
                " details beside the folder results (--save-details)."
            )
        sizes = {key: len(rows) for key, rows in details.items()}
        rows = [row for key in keys for row in details[key]]
        cell = ImportedCell(
            file=str(path),
            harness="lighteval",
            # "?" where it is a package and not a clone.
            harness_version=None if version == "?" else version or None,
            model=model,
            commit=general.get("model_sha") or None,
            dtype=(general.get("model_config") or {}).get("dtype")
            or general.get("model_dtype")
            or None,
            task=task,
            protocol="few_shot" if shots else "direct",
            shots=shots,
            scores=tuple(_scores(path, content["results"], keys, sizes)),
        )
        yield cell, [item for item, _ in rows], [choices for _, choices in rows]


def _scores(
    path: Path, results: dict[str, dict], keys: list[str], sizes: dict[str, int]
) -> Iterator[ImportedScore]:
    """Yield the scores of a task, in which each question counts the same, and of its parts."""
    for name in results[keys[0]]:
        if name.endswith("_stderr"):
            continue
        values = [number_of(results[key].get(name)) for key in keys]
        errors = [number_of(results[key].get(f"{name}_stderr")) for key in keys]
        if None in values:
            raise UserError(f"{path}: results.{keys[values.index(None)]} has no number {name}.")
        counts = np.array([sizes[key] or 1 for key in keys])
        shares = counts / counts.sum()
        yield ImportedScore(
            name=name,
            value=float(shares @ values),
            stderr=None
            if None in errors
            else float(np.linalg.norm(shares * np.array(errors, dtype=float))),
            n=sum(sizes.values()) or None,
        )
        for key, value, error in zip(keys, values, errors, strict=True):
            if len(keys) > 1:
                yield ImportedScore(
                    name=name, subset=_part(key), value=value, stderr=error, n=sizes[key]
                )


def _part(key: str) -> str:
    """Return the part of a task that a key names, such as its subject."""
    return key.rpartition("|")[0].partition(":")[2]


def _read_details(path: Path, key: str, is_part: bool) -> list[tuple[Item, tuple[str, ...]]]:
    """Read the questions of one part; each stands there once for each way of asking."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    date = path.stem.removeprefix("results_")
    before, _, after = f"{path.parent}/".rpartition("/results/")
    file = Path(before) / "details" / after / date / f"details_{key}_{date}.parquet"
    if not file.is_file():
        return []
    subset = _part(key) or None
    by_item: dict[str, list[dict[str, Any]]] = {}
    try:
        for row in pq.read_table(file).to_pylist():
            by_item.setdefault(str(row["doc"]["id"]), []).append(row)
        start = subset or key.rpartition("|")[0]
        return [
            _item(f"{start}/{name}", subset if is_part else None, rows)
            for name, rows in by_item.items()
        ]
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file} is no whole file of details ({type(error).__name__}: {error})."
        ) from None


def _item(
    name: str, subset: str | None, rows: list[dict[str, Any]]
) -> tuple[Item, tuple[str, ...]]:
    doc = rows[0]["doc"]
    scores: dict[str, float] = {}
    likelihoods, text = None, None
    for row in rows:
        numbers = {key: number_of(value) for key, value in row["metric"].items()}
        scores |= {key: value for key, value in numbers.items() if value is not None}
        answer = row["model_response"]
        if answer.get("text"):
            text = answer["text"][0]
        if answer.get("logprobs"):
            likelihoods = [float(value) for value in answer["logprobs"]]
    right = doc["gold_index"]
    gold = right[0] if isinstance(right, list) else right
    choices = tuple(doc.get("choices") or ())
    item = Item(
        item=name,
        prompt_sha256=sha256_text(doc["query"]),
        gold=choices[gold].strip() if gold is not None and gold < len(choices) else None,
        prediction=text.strip() if text else None,
        correct={0.0: False, 1.0: True}.get(next(iter(scores.values()), -1.0)),
        subset=subset,
        scores=scores,
        loglikelihoods=likelihoods,
        text=text,
    )
    return item, choices
