"""lighteval's results_*.json, and its details, Parquet files in a folder beside."""

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign.measured import (
    ForeignScore,
    Measured,
    model_name,
    number_of,
)

KEYS = ("config_general", "results", "config_tasks")
_OF_ALL = ("all", "_average")


def is_lighteval(content: dict[str, Any]) -> bool:
    return all(isinstance(content.get(key), dict) for key in KEYS)


def read_lighteval(
    path: Path, content: dict[str, Any], known: Container[str]
) -> Iterator[Measured]:
    """One for each task; of a known one the parts, such as subjects, are its items' subsets.

    Only of those is it known that lighteval's names with one beginning (mmlu:anatomy, arc:easy) are of one task.
    """
    general = content["config_general"]
    version = general.get("lighteval_sha")
    model = general.get("model_config") or {}
    about = {
        "file": path,
        "harness": "lighteval",
        "version": None if version == "?" else version or None,  # of a package, and not of a clone
        "model": model_name(model.get("model_name") or general.get("model_name"), path),
        "commit": general.get("model_sha") or None,
        "dtype": model.get("dtype") or general.get("model_dtype") or None,
    }
    parts: dict[tuple[str, int], list[str]] = {}
    for key in content["results"]:
        name, _, shots = key.rpartition("|")
        if name and not name.endswith(_OF_ALL):
            if not shots.isdecimal():
                raise UserError(
                    f"{path}: results.{key} ends in {shots!r}; expected a number of examples."
                )
            whole, name = name.split(":")[0].split("|")[-1], name.split("|")[-1]
            task = whole if whole in known else name
            parts.setdefault((task, int(shots)), []).append(key)
    for (task, shots), keys in parts.items():
        yield _measured(path, content, task, keys, about | {"shots": shots})


def _measured(
    path: Path, content: dict[str, Any], task: str, keys: list[str], about: dict[str, Any]
) -> Measured:
    several = len(keys) > 1
    read = {key: _details(path, key, several) for key in keys}
    whole = all(read.values())
    found = [one for key in keys for one in read[key]] if whole else []
    sizes = {key: len(read[key]) if whole else 1 for key in keys}
    if (
        several and not whole
    ):  # how many questions each part has is not known, nor then the mean of all
        raise UserError(
            f"{path}: {task} has {len(keys)} parts and no details of all of them; expected the folder details"
            " beside the folder results (--save-details)."
        )
    scores: dict[str, ForeignScore] = {}
    parts: dict[str, dict[str, ForeignScore]] = {_part(key): {} for key in keys if several}
    for name in content["results"][keys[0]]:
        if name.endswith("_stderr"):
            continue
        said = [number_of(content["results"][key].get(name)) for key in keys]
        if None in said:
            lacking = keys[said.index(None)]
            raise UserError(f"{path}: results.{lacking} has no number {name}; expected one.")
        values = np.array(said, dtype=float)
        errors = [number_of(content["results"][key].get(f"{name}_stderr")) for key in keys]
        for key, value, error in zip(keys, values, errors, strict=True):
            if several:
                parts[_part(key)][name] = ForeignScore(float(value), error, n=sizes[key])
        shares = np.array([sizes[key] for key in keys], dtype=float) / sum(sizes.values())
        spread = np.linalg.norm(shares * np.array(errors, dtype=float))
        scores[name] = ForeignScore(
            float(shares @ values), None if np.isnan(spread) else float(spread)
        )
    definition = content["config_tasks"].get(keys[0]) or {}
    aside = ("name", "full_name", "hf_subset") if several else ()  # of its first part
    return Measured(
        **about,
        task=task,
        scores=scores,
        n=len(found) or None,
        definition={key: value for key, value in dict(definition).items() if key not in aside},
        items=tuple(item for item, _ in found),
        answers=_folder_of_details(path) if found else None,
        choices=tuple(choices for _, choices in found),
        parts=parts,
    )


def _part(key: str) -> str:
    """Of a task, such as its subject; nothing of a task without."""
    return key.rpartition("|")[0].partition(":")[2]


def _folder_of_details(path: Path) -> Path:
    """Under the folder `details`, where the results have theirs, with the date of the results."""
    parts = list(path.parent.parts)
    at = len(parts) - 1 - parts[::-1].index("results") if "results" in parts else None
    if at is None:
        return path.parent
    parts[at] = "details"
    return Path(*parts) / path.stem.removeprefix("results_")


def _details(path: Path, key: str, of_several: bool) -> list[tuple[Item, tuple[str, ...]]]:
    """The questions of one part; each stands there once for each way of asking."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = _folder_of_details(path)
    file = folder / f"details_{key}_{folder.name}.parquet"
    if not file.is_file():
        return []
    subset = _part(key) or None
    try:
        rows = pq.read_table(file).to_pylist()
        by_item: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_item.setdefault(str(row["doc"]["id"]), []).append(row)
        start = subset or key.rpartition("|")[0]
        return [
            _item(f"{start}/{name}", subset if of_several else None, by_item[name])
            for name in by_item
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
    likely, text = None, None
    for row in rows:
        scores |= {
            key: float(one) for key, one in row["metric"].items() if number_of(one) is not None
        }
        answer = row["model_response"]
        if answer.get("text"):
            text = answer["text"][0]
        if answer.get("logprobs"):
            likely = [float(one) for one in answer["logprobs"]]
    right = doc["gold_index"]
    gold = right[0] if isinstance(right, list) else right
    choices = tuple(doc.get("choices") or ())
    correct = {0.0: False, 1.0: True}.get(next(iter(scores.values()), -1.0))
    item = Item(
        item=name,
        prompt_sha256=sha256_text(doc["query"]),
        gold=choices[gold].strip() if gold is not None and gold < len(choices) else None,
        prediction=text.strip() if text else None,
        correct=correct,
        subset=subset,
        scores=scores,
        loglikelihoods=likely,
        text=text,
    )
    return item, choices
