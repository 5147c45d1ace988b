"""Run the cells of one job: one model on one or several tasks, each with its own record.

A failed cell does not stop the others: its record holds the reason, with a note in `broken/`; the
next run of the workflow removes both and retries. Hardware errors (out of memory, a full disk) fail the
job instead, and the job is retried at once. A finished cell is cached, and restored when its job runs
again for another cell.
"""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.failed_cells import write_failed_record
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.items import write_items
from workflow_scripts.core.output_cache import OutputCache
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.score_cache import get_score_cache_path

_KILLED = (
    "Killed on every attempt (scheduler, memory or time limit, or manually). What it had"
    " finished is kept; request more (`snakemake plan` shows the requests), and run the same command."
)


@dataclass(frozen=True)
class GridCell:
    """One model on one task, as a job measures it."""

    record: Path
    cache_key: dict[str, Any]  # what the result depends on, besides rule version and packages
    log: Path
    version: str  # of the rule

    @property
    def name(self) -> str:
        """Return the task's name, with the seed if it is not the first seed."""
        return self.record.stem

    @property
    def items(self) -> Path:
        return self.record.with_suffix(".parquet")

    @property
    def cache(self) -> OutputCache:
        """Return the cache of the cell's outputs."""
        outputs = [self.items, self.record]
        states = [get_score_cache_path(self.record), get_training_state(self.record)]
        validate = partial(read_complete_record, self.record)
        return OutputCache(outputs, self.cache_key, validate, states, self.version)


def get_training_state(record: Path) -> Path:
    """Return the folder of the training state for a record with training before the test."""
    return record.with_name(f".{record.stem}.training")


def run_cells(cells: Iterable[GridCell], measure: Callable[[GridCell], Any]) -> None:
    """Measure each cell or restore it from the cache; an error, except of hardware, becomes the cell's record."""
    for cell in cells:
        print(cell.name, flush=True)
        try:
            cell.cache.run(partial(measure, cell))
        except Interrupted:
            raise
        except Exception as error:
            if describe_hardware_error(error):
                raise
            print(f"{cell.name} failed:\n{traceback.format_exc()}", flush=True)
            _write_failed(cell, error)


def mark_failed(cells: Iterable[GridCell]) -> None:
    """Restore finished cells, and mark the others as failed, because their job was killed on every attempt."""
    for cell in cells:
        if not cell.cache.restore():
            _write_failed(cell, UserError(_KILLED))
            print(f"{cell.name}: {_KILLED}", flush=True)


def _write_failed(cell: GridCell, error: Exception) -> None:
    reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    write_items(cell.items, [])  # the job must write all its outputs
    write_failed_record(cell.record, reason, cell.log)
