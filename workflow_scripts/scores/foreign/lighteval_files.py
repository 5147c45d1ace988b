"""Read lighteval's results_*.json and the Parquet files of its details folder."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign.cells import (
    CellWithItems,
    ImportedCell,
    ImportedScore,
    TaskFields,
    TaskNames,
    get_model_name,
)

KEYS = ("config_general", "results", "config_tasks")


def read(
    path: Path, content: dict[str, Any], names: TaskNames, _: TaskFields
) -> Iterator[CellWithItems]:
    """Read each task; parts of a known task, such as subjects (mmlu:anatomy), become subsets of its items.

    An unknown name with a colon (arc:easy) is a separate task.
    """
    general, results = content["config_general"], content["results"]
    config = general["model_config"]
    parts = defaultdict(list)
    for key in results:
        name, _, shots = key.rpartition("|")
        if name and not name.endswith("_average"):
            prefix = name.partition(":")[0]
            task = prefix if prefix in names.get("lighteval", ()) else name
            parts[task, int(shots)].append(key)
    for (task, shots), keys in parts.items():
        items = [_read_details(path, key, len(keys) > 1) for key in keys]
        if len(keys) > 1 and not all(items):
            raise UserError(
                f"{path}: {task} has parts without details; expected the folder details next to the folder"
                " results (--save-details)."
            )
        cell = ImportedCell(
            harness="lighteval",
            harness_version=general["lighteval_sha"],
            model=get_model_name(config["model_name"]),
            commit=None,
            dtype=config.get("dtype"),
            task=task,
            shots=shots,
            scores=tuple(_average([results[key] for key in keys], list(map(len, items)))),
        )
        yield cell, [item for part in items for item in part]


def _average(parts: list[dict[str, float]], sizes: list[int]) -> Iterator[ImportedScore]:
    """Average the scores of a task's parts, weighted by their numbers of questions."""
    table = pd.DataFrame(parts)
    total = sum(sizes)
    weights = np.array(sizes) / total if total else np.ones(1)
    for name in parts[0]:
        if not name.endswith("_stderr"):
            stderr = float(np.linalg.norm(weights * table.get(f"{name}_stderr", np.nan)))
            yield ImportedScore(
                name=name,
                value=float(weights @ table[name]),
                stderr=None if np.isnan(stderr) else stderr,
                n=total or None,
            )


def _read_details(path: Path, key: str, is_part: bool) -> list[Item]:
    """Read the questions of one part of a task, or none without its file; each has one row per sampling method."""
    import pyarrow.parquet as pq

    date = path.stem.removeprefix("results_")
    before, _, after = f"{path.parent}/".rpartition("/results/")
    file = Path(before) / "details" / after / date / f"details_{key}_{date}.parquet"
    if not file.is_file():
        return []
    task = key.rpartition("|")[0]
    part = task.partition(":")[2]
    by_item = defaultdict(list)
    for row in pq.read_table(file).to_pylist():
        by_item[f"{part or task}/{row['doc']['id']}"].append(row)
    return [_read_item(name, part if is_part else None, rows) for name, rows in by_item.items()]


def _read_item(name: str, subset: str | None, rows: list[dict[str, Any]]) -> Item:
    doc = rows[0]["doc"]
    scores = {
        metric: float(value)
        for row in rows
        for metric, value in row["metric"].items()
        if isinstance(value, int | float)
    }
    texts = [row["model_response"]["text"] for row in rows if row["model_response"].get("text")]
    text = texts[-1][0] if texts else None
    choices = doc.get("choices") or []
    gold = doc["gold_index"]
    gold = gold[0] if isinstance(gold, list) else gold
    return Item(
        item=name,
        prompt_sha256=hash_text(doc["query"]),
        gold=choices[gold].strip() if gold is not None and gold < len(choices) else None,
        prediction=text.strip() if text else None,
        subset=subset,
        scores=scores,
        choices=choices or None,
    )
