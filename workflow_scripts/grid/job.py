"""One job of the grid: a model, a protocol, and one task or several."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.core.own_job import was_killed_before
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.evaluation.direct import Question, evaluate_loaded
from workflow_scripts.grid.cells import Cell, give_up, run_cells
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import hub_of, read_manifest
from workflow_scripts.hub.recording import Recording

Measure = Callable[[Path, Path, Path, Question], Any]


def run_job(
    model: Path,
    datasets: Iterable[Path],
    records: Iterable[Path],
    log: Path,
    *,
    version: str,
    tasks: dict[str, tuple[str, str, str]],
    question: dict[str, Any],
    measure: Measure | None = None,
    last_try: bool = False,
    differing: dict[str, dict[str, Any]] | None = None,
    **more: Any,
) -> None:
    """Measure the tasks, each into the record of its name.

    A record is named after its task, and behind `.seed-` the seed where it is not the question's.
    `tasks` gives the harness's name, the primary metric and the dataset, `differing` by task
    what is asked otherwise than `question` says. Without `measure` the model is evaluated as it
    is, loaded once for all. A last try after one that was killed does not try: it gives up, so
    that the tables of all other cells can be made.
    """
    datasets = list(datasets)
    decides = {
        "version": version,
        "question": question,
        "model": read_manifest(model).commit,
        "packages": package_versions(),
        **more,
    }
    differing = differing or {}
    commits = {(one := read_manifest(path)).repository: one.commit for path in datasets}

    def cell_of(record: Path) -> Cell:
        name, metric, dataset = tasks[_task(record.stem)]
        own = {"task": name, "metric": metric, "dataset": commits[dataset]}
        if otherwise := differing.get(_task(record.stem)):
            own["differing"] = otherwise
        return Cell(record.stem, record, decides | own, log)

    if last_try and was_killed_before():
        give_up(map(cell_of, records))
        return
    measure = measure or _as_it_is()

    def one(cell: Cell) -> None:
        name, metric, _ = tasks[_task(cell.task)]
        _, _, seed = cell.task.partition(_SEED)
        seeded = {"seed": int(seed)} if seed else {}
        otherwise = differing.get(_task(cell.task), {})
        asked = Question(task=name, primary_metric=metric, **question | otherwise | seeded)
        print(f"{cell.task}", flush=True)
        measure(model, hub_of(datasets[0]), cell.record, asked, **more)

    run_cells(map(cell_of, records), one)


_SEED = ".seed-"


def _task(stem: str) -> str:
    return stem.partition(_SEED)[0]


def _as_it_is() -> Measure:
    load = cache(load_model)

    def measure(model: Path, hub: Path, record: Path, asked: Question) -> None:
        loaded = load(model, device=asked.device, dtype=asked.dtype, attention=asked.attention)
        evaluate_loaded(loaded, hub, record, asked, Recording())

    return measure
