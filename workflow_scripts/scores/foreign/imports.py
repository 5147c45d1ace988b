"""Read a folder that other people's harnesses wrote into: one schema for all, and one check."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import ValidationError
from tqdm import tqdm

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, write_json
from workflow_scripts.core.items import Item, write_items
from workflow_scripts.core.records import ItemsFile
from workflow_scripts.scores.errors import RANGES, bare
from workflow_scripts.scores.foreign import every_eval_ever, lighteval_files, lm_eval_files
from workflow_scripts.scores.foreign.cells import (
    CELLS,
    ImportedCell,
    Measured,
    model_name,
)
from workflow_scripts.scores.foreign.requests import ImportRequest
from workflow_scripts.scores.imported import RANKED
from workflow_scripts.settings.imports import paths_in

_SAME = 1e-6  # how near the mean of the items must come to the score beside them


def import_results(inputs: Mapping[str, Any], request: dict, outputs: dict[str, Path]) -> None:
    """Write the cells of a folder with their scores, and the items of each where there are some."""
    asked = ImportRequest.of(request)
    with atomic_dir(outputs["folder"]) as folder:

        def write_file(number: int, measured: Measured) -> Measured:
            """Write the items at once: those of thousands of files are not held together."""
            cell, items, _ = measured
            path = folder / f"{number:05}.parquet"
            if items:
                write_items(path, items)
                file = ItemsFile(file=path.name, sha256=sha256_file(path), n=len(items))
                cell = cell.model_copy(update={"items": file})
            return cell, [], []

        cells = [cell for cell, _, _ in read_folder(Path(asked.folder), asked, write_file)]
        content = []
        for cell, name in zip(cells, name_origins(cells, asked), strict=True):
            file = Path(cell.file).relative_to(asked.folder).as_posix()
            content.append(
                cell.model_copy(update={"study": name, "file": file}).model_dump(mode="json")
            )
        write_json(folder / CELLS, content)


def read_folder(
    folder: Path,
    asked: ImportRequest,
    keep: Callable[[int, Measured], Measured] = lambda number, measured: measured,
) -> list[Measured]:
    """Read each file whole; what is wrong with any of them is said at once, a sentence each."""
    # A link that leads nowhere is a file that cannot be read, and no reason to take the others alone.
    files = [path for path in paths_in(folder) if path.suffix == ".json" or not path.exists()]
    measured: list[Measured] = []
    problems: list[str] = []
    for path in tqdm(files, f"reading {folder}"):
        try:
            for one in [check(*found, asked) for found in _read(path, asked)]:
                measured.append(keep(len(measured), one))
        except UserError as error:
            problems += error.problems
        except ValidationError as error:
            problems += [
                f"{path}: {'.'.join(map(str, one['loc']))}: {one['msg']}." for one in error.errors()
            ]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            problems.append(
                f"{path} has the keys of a result file and another shape ({type(error).__name__}: {error});"
                " expected it as its harness wrote it."
            )
    first: dict[tuple, ImportedCell] = {}
    for cell, _, _ in measured:
        other = first.setdefault((*_weights(cell), *_question(cell), cell.shots), cell)
        if other is not cell:
            problems.append(
                f"{cell.file}: {cell.model} on {cell.task} ({cell.protocol}) stands in {other.file} too;"
                " expected each once."
            )
    if not files:
        problems.append(
            f"{folder} has no file that ends in .json; expected results of lm-eval or lighteval."
        )
    if problems:
        raise UserError(problems)
    return measured


def _read(path: Path, asked: ImportRequest) -> list[Measured]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None
    keys = content if isinstance(content, dict) else {}
    names = asked.names
    if all(isinstance(keys.get(key), dict) for key in lm_eval_files.KEYS):
        model = model_name(lm_eval_files.model_of_lm_eval(content), path)
        tasks = {theirs: asked.tasks[ours] for theirs, ours in names.get("lm_eval", {}).items()}
        measured = list(lm_eval_files.read_lm_eval(path, content, model, tasks))
    elif all(isinstance(keys.get(key), dict) for key in lighteval_files.KEYS):
        model = model_name(lighteval_files.model_of_lighteval(content), path)
        known = names.get("lighteval", {})
        measured = list(lighteval_files.read_lighteval(path, content, model, known))
    elif all(key in keys for key in every_eval_ever.KEYS):
        measured = list(every_eval_ever.read_every_eval_ever(path, content))
        if not measured and content["evaluation_results"]:
            return []  # all of it was varied within one measurement
    else:
        raise UserError(
            f"{path} is no result file of lm-eval, lighteval or Every Eval Ever; expected nothing"
            " else that ends in .json."
        )
    if not measured:
        raise UserError(f"{path} holds no score; expected one or more.")
    return [
        (
            cell.model_copy(update={"task": names.get(cell.harness, {}).get(cell.task, cell.task)}),
            items,
            choices,
        )
        for cell, items, choices in measured
    ]


def check(
    cell: ImportedCell, items: list[Item], choices: list[tuple[str, ...]], asked: ImportRequest
) -> Measured:
    """Hold each score against its range and its items, and take its n and its floor from them.

    The range of a metric is checked on known tasks alone: on others some are percents.
    """
    where = f"{cell.file}: {cell.task}"
    twice = [name for name, count in Counter(item.item for item in items).items() if count > 1]
    if twice:
        raise UserError(f"{where}: the item {twice[0]} stands there twice; expected each once.")
    if not all(choices):
        choices = []
    scores = []
    for score in cell.scores:
        what = f"{score.name} of {score.subset}" if score.subset else score.name
        known = bare(score.name) if cell.task in asked.tasks else ""
        low, high = RANGES.get(known, (-math.inf, math.inf))
        if not low - _SAME <= score.value <= high + _SAME:
            raise UserError(f"{where}: {what} is {score.value:g}; expected {low:g} to {high:g}.")
        places = [
            place
            for place, item in enumerate(items)
            if score.subset is None or item.subset == score.subset
        ]
        if places:
            members = [items[place] for place in places]
            if score.n not in (None, len(members)):
                raise UserError(
                    f"{where}: {what} has {len(members)} items; expected {score.n}, as the file says."
                )
            means = _means(score.name, members)
            if means and min(abs(mean - score.value) for mean in means) > _SAME:
                raise UserError(
                    f"{where}: the mean of {what} over its items is {means[0]:.6g}; expected"
                    f" {score.value:.6g}, as the file says."
                )
            update: dict[str, Any] = {"n": len(members)}
            if choices:
                update |= _floor(members, [choices[place] for place in places])
            score = score.model_copy(update=update)
        scores.append(score)
    return cell.model_copy(update={"scores": tuple(scores)}), items, choices


def _means(name: str, items: Sequence[Item]) -> tuple[float, float] | None:
    """Average over all items, and over the means of the parts, which is a group's score too."""
    by_part: dict[str | None, list[float]] = defaultdict(list)
    for item in items:
        if name not in item.scores:
            return None
        by_part[item.subset].append(item.scores[name])
    return fmean(item.scores[name] for item in items), fmean(map(fmean, by_part.values()))


def _floor(items: Sequence[Item], choices: Sequence[tuple[str, ...]]) -> dict[str, float | None]:
    """Compute the best fixed answer and chance, of items that are choices between given answers."""
    right: list[str | None] = []  # a harness says which answer it is, or what
    for item, answers in zip(items, choices, strict=True):
        by_place = {str(place): answer for place, answer in enumerate(answers)}
        right.append(by_place.get(item.gold or "", item.gold))
    best = None if None in right else max(Counter(right).values()) / len(right)
    return {"best_constant": best, "chance": fmean(1 / len(answers) for answers in choices)}


def _weights(cell: ImportedCell) -> tuple[str, str, str, str]:
    return cell.study, cell.model + cell.variant, cell.dtype or "", cell.commit or ""


def _question(cell: ImportedCell) -> tuple:
    return cell.task, cell.protocol, cell.seed


def name_origins(cells: Sequence[ImportedCell], asked: ImportRequest) -> list[str]:
    """Name where scores come from: the folder, and behind it in brackets what tells them from others.

    Plain is the name of the scores of harmony, or of whichever study comes first; of the weights of a model, where
    there are several, that are in the dtype, and of the commit, which is usual in the folder; and of a task that was
    asked with several numbers of examples, of that which this config asks with, or else is usual.
    """
    first_study = min((cell.study for cell in cells), key=lambda study: (study != RANKED, study))
    dtypes = Counter(cell.dtype for cell in cells)
    commits = Counter(cell.commit for cell in cells)
    usual_shots = Counter((cell.task, cell.shots) for cell in cells)
    by_model: dict[tuple, list[ImportedCell]] = defaultdict(list)
    for cell in cells:
        by_model[_weights(cell)[:2]].append(cell)
    names = []
    for cell in cells:
        of_model = by_model[_weights(cell)[:2]]
        plain = min(
            of_model,
            key=lambda other: (-dtypes[other.dtype], -commits[other.commit], _weights(other)),
        )
        same = [
            other.shots
            for other in of_model
            if (_weights(other), _question(other)) == (_weights(cell), _question(cell))
        ]
        ours = asked.tasks[cell.task].shots if cell.task in asked.tasks else ()
        task = cell.task
        shots = min(same, key=lambda n: (n not in ours, -usual_shots[task, n], n))
        parts = []
        if cell.study != first_study:
            parts.append(cell.study)
        if cell.shots != shots:
            parts.append(f"{cell.shots}-shot")
        if cell.dtype != plain.dtype:
            parts.append(cell.dtype or "format not said")
        if cell.commit != plain.commit:
            parts.append((cell.commit or "")[:7] or "commit not said")
        names.append(f"{asked.name} ({', '.join(parts)})" if parts else asked.name)
    return names
