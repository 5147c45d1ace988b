"""The cells of one job: one model, and one task or several, each with a record of its own.

A cell that fails does not stop the others: in place of its record stands one that says why, and a
note in `broken/`; the next run of the workflow removes both and tries again. What the machine is to
blame for, no memory or a full disk, fails the job instead, which is tried again at once. A cell that
was finished is kept: when its job runs again, for the sake of another cell, it is put back.
"""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.failed_cells import get_note_path
from workflow_scripts.core.files import write_json
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.items import write_items
from workflow_scripts.core.output_cache import OutputCache, delete_resume_state, delete_stale_state
from workflow_scripts.core.records import FailedRecord, read_complete_record
from workflow_scripts.evaluation.score_cache import score_cache_path


@dataclass(frozen=True)
class GridCell:
    record: Path
    decides: dict[str, Any]  # all that its outcome depends on
    log: Path
    version: str  # of the rule

    @property
    def name(self) -> str:
        """Its task's, and where it is not the first, its seed."""
        return self.record.stem

    @property
    def items(self) -> Path:
        return self.record.with_suffix(".parquet")

    @property
    def states(self) -> list[Path]:
        """What is kept to resume from: answers that were scored, the states of a training."""
        return [score_cache_path(self.record), get_training_state(self.record)]

    def forget_states(self) -> None:
        for state in self.states:
            delete_resume_state(state)


def get_training_state(record: Path) -> Path:
    """Where the state of a training before this record's test lies."""
    return record.with_name(f".{record.stem}.training")


def run_cells(cells: Iterable[GridCell], measure: Callable[[GridCell], Any]) -> None:
    """Measure each cell, or take what was kept of it.

    What fails is written as the cell's outcome, unless the machine is to blame for it.
    """
    for cell in cells:
        if _finished(cell).restore():
            print(f"{cell.name}: finished before, and kept", flush=True)
            cell.forget_states()
            continue
        for state in cell.states:
            delete_stale_state(state, cell.version)
        print(cell.name, flush=True)
        try:
            measure(cell)
            _finished(cell).keep()
            # Not before: a job that is killed loses its record, and needs one of the two to resume from.
            cell.forget_states()
        except Interrupted:
            raise
        except Exception as error:
            if describe_hardware_error(error):
                raise
            print(f"{cell.name} is broken:\n{traceback.format_exc()}", flush=True)
            _write_broken(cell, error)


def mark_failed(cells: Iterable[GridCell]) -> None:
    """Keep what was finished, and put the others down as broken: their job was killed in every try."""
    for cell in cells:
        if not _finished(cell).restore():
            _write_broken(cell, UserError(_GIVEN_UP))
            print(f"{cell.name}: {_GIVEN_UP}", flush=True)


_GIVEN_UP = (
    "Killed on every attempt (scheduler, memory or time limit, or manually). What it had"
    " finished is kept; request more (`snakemake plan` shows the requests), and run the same command."
)


def _finished(cell: GridCell) -> OutputCache:
    decides = {"version": cell.version, **cell.decides}
    return OutputCache(
        [cell.items, cell.record], decides, lambda: read_complete_record(cell.record)
    )


def _write_broken(cell: GridCell, error: Exception) -> None:
    reason = str(error).strip() or type(error).__name__
    if not isinstance(error, UserError):
        reason = f"{type(error).__name__}: {reason}"
    about = FailedRecord(record=str(cell.record), reason=reason, log=str(cell.log)).model_dump()
    write_items(cell.items, [])
    write_json(cell.record, {"broken": about})
    write_json(get_note_path(cell.record), about)
