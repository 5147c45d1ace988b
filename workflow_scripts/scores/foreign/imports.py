"""A folder that other people's harnesses wrote into, as records with their items: each file whole, or none."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field
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
    checked,
    each_once,
    read_json,
)
from workflow_scripts.scores.foreign.requests import ImportRequest
from workflow_scripts.scores.influences import ScoredRecord

SCORES = "scores.parquet"


class ImportedRecord(ImportedCell):
    """A cell with its numbers and its items."""

    schema_version: Literal[2] = 2
    study: str = Field(description="The import's name, by which its scores are told from others")
    sha256: str = Field(pattern=SHA256, description="Of the file")
    definition_sha256: str | None = Field(description="Of the task's definition in that file")
    metrics: tuple[Metric, ...]
    items: ItemsFile


def import_results(inputs: Mapping[str, Any], request: dict, outputs: dict[str, Path]) -> None:
    """Records where there are items, and of all cells the scores and what is known beside them."""
    asked = ImportRequest.of(request)
    found = read_folder(Path(asked.folder), asked)
    cells = [_cell(one, asked) for one in found]
    for sentence in [*compared(found), *told(cells)[1:]]:
        print(sentence)
    with atomic_dir(outputs["folder"]) as folder:
        rows = []
        write_json(folder / CELLS, [cell.model_dump(mode="json") for cell in cells])
        for at, one in enumerate(tqdm(found, "writing records")):
            if one.items:
                about = dict(cells[at]) | {"study": asked.name}
                _write_record(folder / f"{at:05}.json", one, about)
            rows += [row | {"study": asked.name} for row in _rows(one)]
        scores = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
        with_sound_errors(scores).to_parquet(folder / SCORES, index=False)


def read_folder(folder: Path, asked: ImportRequest) -> list[Measured]:
    """All that is wrong with any of the files at once, a sentence each."""
    files = sorted(folder.rglob("*.json"))
    found: list[Measured] = []
    problems: list[str] = []
    for path in tqdm(files, f"reading {folder}"):
        try:
            found += [checked(one).with_floors() for one in _read(path, asked)]
        except UserError as error:
            problems += error.problems
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            problems.append(
                f"{path} has the keys of a result file and another shape ({type(error).__name__}: {error});"
                " expected it as its harness wrote it."
            )
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
        found = list(read_lighteval(path, content))
    elif is_every_eval_ever(content):
        found = list(read_every_eval_ever(path, content))
        names = ours.get(found[0].harness, {}) if found else {}
    else:
        raise UserError(
            f"{path} is no result file of lm-eval, lighteval or Every Eval Ever; expected nothing else that ends in .json."
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
    """Without what may differ between two that ask the same: versions, and the number of examples."""
    aside = ("metadata", "num_fewshot", "group", "group_alias", "task_alias", "tag")
    return {key: value for key, value in definition.items() if key not in aside}


def _cell(one: Measured, asked: ImportRequest) -> ImportedCell:
    return ImportedCell(
        file=one.file.relative_to(asked.folder).as_posix(),
        harness=one.harness,
        harness_version=one.version,
        **{
            name: getattr(one, name)
            for name in ("model", "variant", "seed", "commit", "dtype", "task")
        },
        protocol=one.protocol,
        shots=one.shots,
        differs=differences(one, asked.tasks.get(one.task)),
    )


def _write_record(path: Path, one: Measured, about: dict[str, Any]) -> None:
    items = path.with_suffix(".parquet")
    write_items(items, list(one.items))
    metrics = [
        Metric(
            name=name,
            value=score.value,
            stderr=score.stderr,
            n=len(one.items),
            best_constant=score.best_constant,
            chance=score.chance,
        )
        for name, score in one.scores.items()
    ]
    record = ImportedRecord(
        **about,
        sha256=sha256_file(one.file),
        definition_sha256=sha256_json(_what_decides(one.definition)) if one.definition else None,
        metrics=tuple(metrics),
        items=ItemsFile(file=items.name, sha256=sha256_file(items), n=len(one.items)),
    )
    write_json(path, record.model_dump(mode="json"))


def _rows(one: Measured) -> list[dict[str, Any]]:
    about = {
        "model": one.model,
        "variant": one.variant,
        "task": one.task,
        "protocol": one.protocol,
        "shots": one.shots,
        "n": one.n,
        "seed": one.seed,
        "dtype": one.dtype,
        "commit": one.commit,
    }
    rows = []
    for name, score in one.scores.items():
        floors = [value for value in (score.best_constant, score.chance) if value is not None]
        told = {"metric": name, "value": score.value, "stderr": score.stderr}
        rows.append(about | told | {"floor": max(floors, default=None), "chance": score.chance})
    return rows


def scored_imports(folder: Path) -> Iterator[ScoredRecord]:
    """The records in a folder of them, as `scores.influences` takes them."""
    for path in sorted(folder.glob("[0-9]*.json")):
        with problems_named(path):
            one = ImportedRecord.model_validate_json(path.read_text(encoding="utf-8"))
        row = one.study, one.protocol, one.model, one.variant, one.dtype or "", one.commit or ""
        yield ScoredRecord(path.with_name(one.items.file), row, one.task, one.metrics)
