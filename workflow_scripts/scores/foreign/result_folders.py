"""Read a folder of external results with one schema and one check for all harnesses."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import Item
from workflow_scripts.scores.foreign import every_eval_ever, lighteval_files, lm_eval_files
from workflow_scripts.scores.foreign.cells import (
    CellWithItems,
    ImportedScore,
    TaskFields,
    TaskNames,
)
from workflow_scripts.scores.metric_ranges import check_range
from workflow_scripts.settings.import_folders import list_imported_paths

READERS: tuple[Any, ...] = (lm_eval_files, lighteval_files, every_eval_ever)


def read_folder(folder: Path, names: TaskNames, tasks: TaskFields) -> Iterator[CellWithItems]:
    """Read the cells of all JSON files of a folder, with their items where available.

    `names` maps each harness's task names to ours; `tasks` has the metric and clusters of each of our tasks.
    """
    files: dict[tuple, Path] = {}
    # A dangling link must fail as an unreadable file and not be skipped.
    paths = [
        path for path in list_imported_paths(folder) if path.suffix == ".json" or not path.exists()
    ]
    for path in paths:
        try:
            for cell, items in _read_file(path, names, tasks):
                key = (cell.model, cell.variant, cell.task, cell.protocol, cell.seed)
                if files.setdefault(key, path) != path:
                    raise UserError(f"{path}: {cell.model} on {cell.task} is in {files[key]} too.")
                if cell.task in tasks:  # others may be in percent
                    for score in cell.scores:
                        check_range(score.name, score.value)
                scores = tuple(check_score(score, items) for score in cell.scores)
                yield cell.model_copy(update={"scores": scores}), items
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            problem = f"{path} cannot be read ({type(error).__name__}: {error})."
            raise UserError(problem) from error
    if not paths:
        raise UserError(f"{folder} has no file that ends in .json.")


def _read_file(path: Path, names: TaskNames, tasks: TaskFields) -> Iterator[CellWithItems]:
    content = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    for reader in READERS:
        if set(reader.KEYS) <= set(content):
            for cell, items in reader.read(path, content, names, tasks):
                task = names.get(cell.harness, {}).get(cell.task, cell.task)
                yield cell.model_copy(update={"task": task}), items
            return
    raise UserError(f"{path} is not a result file of lm-eval, lighteval or Every Eval Ever.")


def check_score(score: ImportedScore, items: Sequence[Item]) -> ImportedScore:
    """Check a score against the number of its items, and fill in its n and baselines from them."""
    if not items:
        return score
    if score.n not in (None, len(items)):
        raise ValueError(f"{score.name} has n = {score.n}, but there are {len(items)} items")
    update: dict[str, Any] = {"n": len(items)}
    if all(item.choices for item in items):
        golds = Counter(item.gold for item in items)
        update["chance"] = fmean(1 / len(item.choices or ()) for item in items)
        update["best_constant"] = max(golds.values()) / len(items)
    return score.model_copy(update=update)
