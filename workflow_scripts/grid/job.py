"""One job of the grid: a model, a protocol, and one task or several."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.evaluation.direct import Question, evaluate_loaded
from workflow_scripts.grid.cells import Cell, run_cells
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
    tasks: dict[str, tuple[str, str]],
    question: dict[str, Any],
    measure: Measure | None = None,
    **more: Any,
) -> None:
    """Measure the tasks, each into the record of its name.

    `tasks` gives the harness's name and the primary metric. Without `measure` the model is evaluated as
    it is, loaded once for all.
    """
    datasets = list(datasets)
    decides = {
        "version": version,
        "question": question,
        "model": read_manifest(model).commit,
        "datasets": sorted(read_manifest(path).commit for path in datasets),
        "packages": Recording().provenance({}).packages,
        **more,
    }
    cells = [Cell(path.stem, path, decides | {"task": tasks[path.stem]}, log) for path in records]
    measure = measure or _as_it_is()

    def one(cell: Cell) -> None:
        name, metric = tasks[cell.task]
        asked = Question(task=name, primary_metric=metric, **question)
        print(f"{cell.task}", flush=True)
        measure(model, hub_of(datasets[0]), cell.record, asked, **more)

    run_cells(cells, one)


def _as_it_is() -> Measure:
    load = cache(load_model)

    def measure(model: Path, hub: Path, record: Path, asked: Question) -> None:
        loaded = load(model, device=asked.device, dtype=asked.dtype, attention=asked.attention)
        evaluate_loaded(loaded, hub, record, asked, Recording())

    return measure
