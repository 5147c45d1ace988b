"""A folder that other people's harnesses wrote into, as records with their items: each file whole, or none."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field, TypeAdapter
from tqdm import tqdm

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, sha256_json, write_json
from workflow_scripts.core.items import write_items
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import SHA256, ItemsFile, Metric, problems_named
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.errors import with_sound_errors
from workflow_scripts.scores.foreign.cells import CELLS, ImportedCell, told
from workflow_scripts.scores.foreign.definitions import differences
from workflow_scripts.scores.foreign.every_eval_ever import (
    is_every_eval_ever,
    read_every_eval_ever,
)
from workflow_scripts.scores.foreign.lighteval_files import is_lighteval, read_lighteval
from workflow_scripts.scores.foreign.lm_eval_files import AskedTask, is_lm_eval, read_lm_eval
from workflow_scripts.scores.foreign.measured import (
    Measured,
    Weights,
    checked,
    each_once,
    read_json,
)
from workflow_scripts.scores.foreign.requests import ImportRequest
from workflow_scripts.scores.imported import RANKED
from workflow_scripts.scores.influences import ScoredRecord
from workflow_scripts.settings.imports import paths_in

SCORES, RECORDS = "scores.parquet", "records.json"


class ImportedRecord(ImportedCell):
    """A cell with its numbers and its items."""

    schema_version: Literal[4] = 4
    sha256: str = Field(pattern=SHA256, description="Of the file")
    definition_sha256: str | None = Field(description="Of the task's definition in that file")
    metrics: tuple[Metric, ...]
    items: ItemsFile


_AS_TOLD = ("model", "variant", "parameters", "base", "seed", "commit", "dtype", "task")
_ALL = TypeAdapter(tuple[ImportedRecord, ...])


def import_results(inputs: Mapping[str, Any], request: dict, outputs: dict[str, Path]) -> None:
    """Records where there are items, and of all cells the scores and what is known beside them."""
    asked = ImportRequest.of(request)
    with atomic_dir(outputs["folder"]) as folder:

        def items_written(at: int, one: Measured) -> Measured:
            """Without its items: those of thousands of files are not held together."""
            if one.items:
                write_items(folder / f"{at:05}.parquet", list(one.items))
            return replace(one, items=(), choices=())

        found = read_folder(Path(asked.folder), asked, items_written)
        named = origins(found, asked)
        cells = [_cell(one, study, asked) for one, study in zip(found, named, strict=True)]
        for sentence in [*compared(found), *told(cells)[1:]]:
            print(sentence)
        rows: list[dict[str, Any]] = []
        records: list[ImportedRecord] = []
        for at, one in enumerate(found):
            if (items := folder / f"{at:05}.parquet").exists():
                records.append(_record(items, one, dict(cells[at])))
            rows += [row | {"study": named[at]} for row in _rows(one)]
        write_json(folder / CELLS, [cell.model_dump(mode="json") for cell in cells])
        write_json(folder / RECORDS, [record.model_dump(mode="json") for record in records])
        scores = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
        with_sound_errors(scores).to_parquet(folder / SCORES, index=False)


def read_folder(
    folder: Path,
    asked: ImportRequest,
    keep: Callable[[int, Measured], Measured] = lambda at, one: one,
) -> list[Measured]:
    """All that is wrong with any of the files at once, a sentence each; `keep` is given each with its place."""
    # A link that leads nowhere is a file that cannot be read, and no reason to take the others alone.
    files = [one for one in paths_in(folder) if one.suffix == ".json" or not one.exists()]
    found: list[Measured] = []
    problems: list[str] = []
    for path in tqdm(files, f"reading {folder}"):
        try:
            read = [
                checked(one, known=one.task in asked.tasks).with_floors()
                for one in _read(path, asked)
            ]
        except UserError as error:
            problems += error.problems
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            problems.append(
                f"{path} has the keys of a result file and another shape ({type(error).__name__}: {error});"
                " expected it as its harness wrote it."
            )
        else:
            for one in read:
                found.append(keep(len(found), one))
    problems += each_once(found)
    if not files:
        problems.append(
            f"{folder} has no file that ends in .json; expected results of lm-eval or lighteval."
        )
    if problems:
        raise UserError(problems)
    return found


def _read(path: Path, asked: ImportRequest) -> list[Measured]:
    content = read_json(path)
    ours = asked.names
    if is_lm_eval(content):
        names = ours.get("lm_eval", {})
        told = {
            theirs: AskedTask(asked.tasks[name].metrics[0], asked.tasks[name].cluster)
            for theirs, name in names.items()
        }
        found = list(read_lm_eval(path, content, told))
    elif is_lighteval(content):
        names = ours.get("lighteval", {})
        found = list(read_lighteval(path, content, names))
    elif is_every_eval_ever(content):
        found = list(read_every_eval_ever(path, content))
        if not found and content["evaluation_results"]:
            print(f"{path}: of what was varied within one measurement nothing is read.")
            return []
        names = ours.get(found[0].harness, {}) if found else {}
    else:
        raise UserError(
            f"{path} is no result file of lm-eval, lighteval or Every Eval Ever; expected nothing"
            " else that ends in .json."
        )
    if not found:
        raise UserError(f"{path} holds no score; expected one or more.")
    return [replace(one, task=names.get(one.task, one.task)) for one in found]


def compared(found: list[Measured]) -> list[str]:
    """What two who read these scores side by side should know: other versions, other definitions of a task."""
    ours = package_versions()
    said = []
    for harness in dict.fromkeys(one.harness for one in found):
        versions = dict.fromkeys(
            one.version or "not recorded" for one in found if one.harness == harness
        )
        if harness in ours and list(versions) != [ours[harness]]:
            said.append(
                f"{harness} was of version {', '.join(versions)}; this run has {ours[harness]}."
            )
    definitions: dict[str, set[str]] = {}
    for one in found:
        definitions.setdefault(one.task, set()).add(sha256_json(_what_decides(one.definition)))
    said += [
        f"{task} is defined in {len(ways)} ways in these files: their scores are of different tasks."
        for task, ways in definitions.items()
        if len(ways) > 1
    ]
    return said


def _what_decides(definition: dict[str, Any]) -> dict[str, Any]:
    """Without what may differ between two that ask the same: versions, and the numbers of examples and items."""
    aside = {"metadata", "num_fewshot", "group", "group_alias", "task_alias", "tag"}
    aside |= {"num_fewshots", "original_num_docs", "effective_num_docs"}
    return {key: value for key, value in definition.items() if key not in aside}


def origins(found: list[Measured], asked: ImportRequest) -> list[str]:
    """The name that the scores of each go by: the folder's, and behind it in brackets what tells them from others.

    Plain is the name of the scores of harmony, or of whichever study comes first, where a run shared those of
    several; of the weights of a model, where there are several, that are in the format, and of the commit, which is
    usual in the folder; and of a task that was asked with several numbers of examples, of that which this config asks
    with, or else is usual.
    """
    studies = sorted({one.study for one in found}, key=lambda study: (study != RANKED, study))
    weights: dict[tuple[str, str], set[Weights]] = defaultdict(set)
    shots: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    usual: dict[str, Counter[int]] = defaultdict(Counter)
    formats = Counter(one.weights.dtype for one in found)
    commits = Counter(one.weights.commit for one in found)
    for one in found:
        weights[one.study, one.model + one.variant].add(one.weights)
        shots[one.cell].add(one.shots)
        usual[one.task][one.shots] += 1

    def name(one: Measured) -> str:
        here = asked.tasks.get(one.task)
        ours, of_task = here.shots if here else (), usual[one.task]
        first = min(shots[one.cell], key=lambda n: (n not in ours, -of_task[n], n))
        theirs = min(
            weights[one.study, one.model + one.variant],
            key=lambda way: (-formats[way.dtype], -commits[way.commit], way),
        )
        parts = [one.study] * (one.study != studies[0])
        parts += [f"{one.shots}-shot"] * (one.shots != first) + one.weights.beside(theirs)
        return f"{asked.name} ({', '.join(parts)})" if parts else asked.name

    return [name(one) for one in found]


def _cell(one: Measured, study: str, asked: ImportRequest) -> ImportedCell:
    return ImportedCell(
        study=study,
        file=one.file.relative_to(asked.folder).as_posix(),
        harness=one.harness,
        harness_version=one.version,
        **{name: getattr(one, name) for name in _AS_TOLD},
        protocol=one.protocol,
        shots=one.shots,
        differs=differences(one, asked.tasks.get(one.task)),
    )


def _record(items: Path, one: Measured, about: dict[str, Any]) -> ImportedRecord:
    """Beside its items, which are there; `one` knows their number."""
    n = one.n or 0
    metrics = [
        Metric(
            name=name,
            subset=part,
            value=score.value,
            stderr=score.stderr,
            n=score.n or n,
            best_constant=score.best_constant,
            chance=score.chance,
        )
        for name, part, score in one.everything
    ]
    return ImportedRecord(
        **about,
        sha256=sha256_file(one.file),
        definition_sha256=sha256_json(_what_decides(one.definition)) if one.definition else None,
        metrics=tuple(metrics),
        items=ItemsFile(file=items.name, sha256=sha256_file(items), n=n),
    )


def _rows(one: Measured) -> list[dict[str, Any]]:
    about = {
        "model": one.model,
        "variant": one.variant,
        "task": one.task,
        "protocol": one.protocol,
        "shots": one.shots,
        "seed": one.seed,
        "dtype": one.dtype,
        "commit": one.commit,
    }
    rows = []
    for name, part, score in one.everything:
        floors = [value for value in (score.best_constant, score.chance) if value is not None]
        told = {"subset": part, "metric": name, "value": score.value, "stderr": score.stderr}
        told |= {"n": score.n if part else one.n, "chance": score.chance}
        rows.append(about | told | {"floor": max(floors, default=None)})
    return rows


def scored_imports(folder: Path) -> Iterator[ScoredRecord]:
    """The records in a folder of them, as `scores.influences` takes them."""
    with problems_named(folder / RECORDS):
        records = _ALL.validate_json((folder / RECORDS).read_bytes())
    for one in records:
        row = one.study, one.protocol, one.model, one.variant, one.dtype or "", one.commit or ""
        yield ScoredRecord(folder / one.items.file, row, one.task, one.metrics)
