"""Tidy scores: one row per number, from records and from other people's CSV files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.core.conditions import CONDITIONS, Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.records import Broken, Metric, Record, read_record
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.errors import with_sound_errors
from workflow_scripts.scores.files import write_csv
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore, read_cells
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.influences import ScoredRecord, item_errors

Files = Mapping[str, Sequence[Path]]  # by what the rule calls them


def collect_scores(inputs: Files, _: dict, outputs: Mapping[str, Path]) -> None:
    """The scores of a study, with imported ones beside them, and how the items they share move them together."""
    records, folders = whole_records(inputs["records"]), inputs.get("imports", ())
    imported = [(folder, cell) for folder in folders for cell in read_cells(folder)]
    scores = collect(record for _, record in records)
    theirs = tidy([row for _, cell in imported for row in rows_of_cell(cell)])
    write_parquet(_in_order(pd.concat([scores, theirs]).astype(COLUMNS)), outputs["scores"])
    scored = [
        ScoredRecord(
            folder / cell.items.file,
            (
                cell.study,
                cell.protocol,
                cell.model,
                cell.variant,
                cell.dtype or "",
                cell.commit or "",
            ),
            cell.task,
            cell.scores,
        )
        for folder, cell in imported
        if cell.items
    ]
    write_parquet(item_errors(records, scored), outputs["errors"])


def merge_scores(inputs: Files, metrics: dict[str, str], outputs: Mapping[str, Path]) -> None:
    """In one table, with those imported from elsewhere; `metrics` are those that tables report of a task."""
    scores = merge(list(map(pd.read_parquet, inputs["studies"])), inputs["imported"], metrics)
    write_parquet(scores, outputs["parquet"])
    write_csv(scores, outputs["csv"])


def whole_records(paths: Sequence[Path]) -> list[tuple[Path, Record]]:
    """All that is wrong with any of them at once; of a broken cell nothing, and the tables say so."""
    whole, problems = [], []
    for path in paths:
        try:
            found = read_record(path)
        except UserError as error:
            problems += error.problems
            continue
        if isinstance(found, Broken):
            print(f"{path} is of a broken cell, and left out.")
        else:
            whole.append((path, found))
    if problems:
        raise UserError(problems)
    return whole


def collect(records: Iterable[Record]) -> pd.DataFrame:
    """The scores of a study from its records."""
    return _in_order(tidy([row for record in records for row in rows_of(record)]))


def tidy(rows: list[dict]) -> pd.DataFrame:
    return with_sound_errors(pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS))


def merge(
    studies: list[pd.DataFrame], imported: Sequence[Path], metrics: Mapping[str, str]
) -> pd.DataFrame:
    """All studies together with other people's scores, which must not pass for ours."""
    ours = {study for frame in studies for study in frame["study"].unique()}
    theirs = import_all(imported, metrics, taken=ours)
    together = pd.concat([*studies, *theirs], ignore_index=True).astype(COLUMNS)
    return _in_order(together.drop_duplicates())  # imported results stand in two studies


def import_all(
    paths: Sequence[Path], metrics: Mapping[str, str], taken: set[str]
) -> list[pd.DataFrame]:
    """The scores of each file; `taken` are the names that a file may not have as its own."""
    frames, problems = [], []
    seen: dict[str, Path] = {}
    for path in paths:
        if path.stem in taken:
            problems.append(
                f"{path}: its name is that of our study {path.stem!r}; expected another, since scores"
                " are told apart by it."
            )
        if path.stem in seen:
            problems.append(
                f"{path}: its name is that of {seen[path.stem]}; expected files of different names,"
                " since scores are told apart by them."
            )
        seen.setdefault(path.stem, path)
        try:
            frames.append(read_imported(path, metrics))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return frames


def _in_order(scores: pd.DataFrame) -> pd.DataFrame:
    keys = ["study", "protocol", "task", "model", "variant", "metric", "subset", "seed"]
    keys += ["dtype", "commit", *CONDITIONS]
    return scores.sort_values(keys, ignore_index=True, kind="stable")


def rows_of(record: Record) -> list[dict]:
    checkpoint = CheckpointId.parse(record.model.id)
    return [
        {
            "study": record.study,
            "model": checkpoint.model,
            "variant": checkpoint.variant,
            "task": record.task.name,
            "subset": metric.subset,
            "protocol": record.protocol.name,
            "shots": record.task.shots,
            "metric": metric.name,
            "value": metric.value,
            "stderr": metric.stderr,
            "n": metric.n,
            "seed": record.protocol.seed,
            "floor": floor_of(metric),
            "chance": metric.chance,
            "dtype": record.protocol.dtype,
            "commit": record.model.commit,
            **(metric.condition or Condition()).model_dump(),
        }
        for metric in record.metrics
    ]


def rows_of_cell(cell: ImportedCell) -> list[dict]:
    about = cell.model_dump(
        include={
            "study",
            "model",
            "variant",
            "task",
            "protocol",
            "shots",
            "seed",
            "dtype",
            "commit",
        }
    )
    return [
        about
        | {"metric": score.name, "floor": floor_of(score)}
        | score.model_dump(include={"subset", "value", "stderr", "n", "chance"})
        for score in cell.scores
    ]


def reported(record: Record) -> Metric | None:
    """Of the whole task, the metric that its request asks for, or else the first; None where all are of parts."""
    whole = {one.name: one for one in record.metrics if one.subset is None and not one.condition}
    asked = [task["metric"] for task in record.request.get("tasks", {}).values()]
    return next((whole[name] for name in (*asked, *whole) if name in whole), None)


def floor_of(metric: Metric | ImportedScore) -> float | None:
    """What a model must beat to have shown anything: the better of a fixed and a random answer."""
    return max((f for f in (metric.best_constant, metric.chance) if f is not None), default=None)


def write_parquet(scores: pd.DataFrame, path: Path) -> None:
    with atomic_path(path) as temporary:
        scores.to_parquet(temporary, index=False)
