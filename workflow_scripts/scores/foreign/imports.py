"""Read a folder that other people's harnesses wrote into: one schema for all, and one check."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, write_json
from workflow_scripts.core.items import Item, write_items
from workflow_scripts.core.records import ItemsFile
from workflow_scripts.scores.errors import RANGES, bare
from workflow_scripts.scores.foreign import every_eval_ever, lighteval_files, lm_eval_files
from workflow_scripts.scores.foreign.cells import CELLS, ImportedCell, Measured
from workflow_scripts.scores.imported import RANKED
from workflow_scripts.settings.imports import list_imported_paths

READERS: tuple[Any, ...] = (lm_eval_files, lighteval_files, every_eval_ever)
TOLERANCE = 1e-6  # between the mean of the items and the score beside them


def import_results(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the cells of a folder with their scores, and the items of each where there are some."""
    folder, tasks = Path(request["folder"]), request["tasks"]
    cells: list[ImportedCell] = []
    with atomic_dir(outputs["folder"]) as target:
        for cell, items in read_folder(folder, request["names"], tasks):
            update: dict[str, Any] = {"file": Path(cell.file).relative_to(folder).as_posix()}
            if items:
                path = target / f"{len(cells):05}.parquet"
                write_items(path, items)
                digest = sha256_file(path)
                update["items"] = ItemsFile(file=path.name, sha256=digest, n=len(items))
            cells.append(cell.model_copy(update=update))
        origins = name_origins(request["name"], cells, tasks)
        content = [
            cell.model_copy(update={"study": origin}).model_dump(mode="json")
            for cell, origin in zip(cells, origins, strict=True)
        ]
        write_json(target / CELLS, content)


def read_folder(
    folder: Path, names: dict[str, dict[str, str]], tasks: dict[str, dict[str, Any]]
) -> Iterator[Measured]:
    """Read each JSON file whole; all problems are raised together behind the last.

    `names` has, by harness and its own name for a task, ours; `tasks` what this config says of ours.
    """
    problems: list[str] = []
    first: dict[tuple, str] = {}
    # A link that leads nowhere is a file that cannot be read, and no reason to take the others alone.
    files = [
        path for path in list_imported_paths(folder) if path.suffix == ".json" or not path.exists()
    ]
    for path in files:
        try:
            for cell, items in _read_file(path, names, tasks):
                key = (*_get_weights(cell), cell.task, cell.protocol, cell.seed, cell.shots)
                if first.setdefault(key, str(path)) != str(path):
                    raise UserError(f"{path}: {cell.model} on {cell.task} is in {first[key]} too.")
                yield check_cell(cell, items, cell.task in tasks), items
        except UserError as error:
            problems += error.problems
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            problems.append(f"{path} cannot be read ({type(error).__name__}: {error}).")
    if not files:
        problems.append(f"{folder} has no file that ends in .json.")
    if problems:
        raise UserError(problems)


def _read_file(
    path: Path, names: dict[str, dict[str, str]], tasks: dict[str, dict[str, Any]]
) -> Iterator[Measured]:
    content = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    keys = set(content) if isinstance(content, dict) else set()
    readers = [reader for reader in READERS if keys.issuperset(reader.KEYS)]
    if not readers:
        raise UserError(f"{path} is no result file of lm-eval, lighteval or Every Eval Ever.")
    for cell, items in readers[0].read(path, content, names, tasks):
        task = names.get(cell.harness, {}).get(cell.task, cell.task)
        yield cell.model_copy(update={"task": task}), items


def check_cell(cell: ImportedCell, items: Sequence[Item], is_known: bool) -> ImportedCell:
    """Check each score against its range and its items, and take its n and its floor from them.

    The range of a metric is checked on known tasks alone: on others some are percents.
    """
    scores = []
    for score in cell.scores:
        low, high = RANGES.get(bare(score.name) if is_known else "", (-math.inf, math.inf))
        members = [item for item in items if score.subset in (None, item.subset)]
        n = len(members) or score.n
        values = [item.scores.get(score.name, math.nan) for item in members]
        # A group of tasks may have the mean of its members' scores.
        is_group = len({item.subset for item in members}) > 1
        problem = None
        if not low - TOLERANCE <= score.value <= high + TOLERANCE:
            problem = f"expected {low:g} to {high:g}"
        elif score.n not in (None, n):
            problem = f"of {score.n} items, and {n} are there"
        elif values and not is_group and abs(fmean(values) - score.value) > TOLERANCE:
            problem = f"and the mean over its items is {fmean(values):.6g}"
        if problem:
            where = f"{cell.file}: {cell.task}: {score.name}"
            raise UserError(f"{where} is {score.value:g}; {problem}.")
        update: dict[str, Any] = {"n": n}
        golds = Counter(item.gold for item in members)
        if members and all(item.choices for item in members):
            update["chance"] = fmean(1 / len(item.choices or ()) for item in members)
            update["best_constant"] = max(golds.values()) / len(members)
        scores.append(score.model_copy(update=update))
    return cell.model_copy(update={"scores": tuple(scores)})


def _get_weights(cell: ImportedCell) -> tuple[str, str, str, str]:
    return cell.study, cell.model + cell.variant, cell.dtype or "", cell.commit or ""


def name_origins(
    folder: str, cells: Sequence[ImportedCell], tasks: dict[str, dict[str, Any]]
) -> list[str]:
    """Name where each score comes from: the folder, with what tells it from other scores of its model.

    That is another study than harmony, and the dtype, commit or number of examples where there are several; a number
    of examples that this config asks with goes without saying.
    """
    variants: dict[tuple, set] = {}
    keys = []
    for cell in cells:
        study, model, dtype, commit = _get_weights(cell)
        parts = {
            (model, "dtype"): dtype or "dtype unknown",
            (model, "commit"): commit[:7] or "commit unknown",
            (model, study, cell.task, cell.protocol): f"{cell.shots}-shot",
        }
        keys.append(parts)
        for key, value in parts.items():
            variants.setdefault(key, set()).add(value)
    names = []
    for cell, parts in zip(cells, keys, strict=True):
        usual = {f"{shots}-shot" for shots in tasks.get(cell.task, {}).get("shots", ())}
        texts = [value for key, value in parts.items() if len(variants[key]) > 1]
        texts = [text for text in texts if text not in usual]
        if cell.study not in ("", RANKED):
            texts.insert(0, cell.study)
        names.append(f"{folder} ({', '.join(texts)})" if texts else folder)
    return names


if "snakemake" in globals():
    run_job(import_results, snakemake)
