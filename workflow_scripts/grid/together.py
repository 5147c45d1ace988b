"""The cells of a job whose trainings share their steps: each is tested, and has its record, once it has ended."""

import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_json
from workflow_scripts.core.finished import forget_old_state, forget_state
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.grid.base import Base
from workflow_scripts.grid.cells import GridCell, broken_alone, run_cell, run_cells, unfinished
from workflow_scripts.grid.train_before_test import Prepared, prepare, put_test
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.training.run import free_memory, refuse_unusable
from workflow_scripts.training.together.group import CannotShare
from workflow_scripts.training.together.run import train_together
from workflow_scripts.training.trained import Trained


def may_share(request: CellsRequest) -> bool:
    """Whether the request is one for trainings that share their steps."""
    return request.together != 1 and request.recipe is not None and request.recipe.shares_steps


def run_cells_together(
    cells: Iterable[GridCell],
    measure: Callable[[GridCell], Any],
    *,
    hub: Path,
    requests: dict[str, CellsRequest],
    base: Base,
) -> None:
    """As `run_cells` does, but trained together as far as that goes; `measure` trains and tests what is left."""
    known = {cell.name: cell for cell in cells}
    first = next(iter(known.values()))
    state = first.record.with_name(f".{first.name}.together.training")
    forget_old_state(state, first.version)
    left = _train_together(hub, known, requests, base, state)
    free_memory()
    run_cells(left, measure)
    forget_state(state)


def _train_together(
    hub: Path,
    known: dict[str, GridCell],
    requests: dict[str, CellsRequest],
    base: Base,
    state: Path,
) -> list[GridCell]:
    """Gives the cells that are left to be trained one by one."""
    waiting = {cell.name: cell for cell in unfinished(known.values())}
    if not waiting:
        return []
    members = [name for name in _members(state, list(waiting)) if name in known]
    with mirror(hub) as datasets:
        prepared: dict[str, Prepared] = {}
        for name in members:
            with broken_alone(known[name]) if name in waiting else nullcontext():
                one = prepare(hub, known[name].record, requests[name], base, datasets)
                refuse_unusable(base.loaded(one.precision).model, one.samples, one.recipe)
                prepared[name] = one
        lessons = [
            one.lesson(rate, f"{name}@{rate:g}")
            for name, one in prepared.items()
            for rate in one.rates
        ]
        if not lessons:
            return []
        request, some = next(iter(requests.values())), next(iter(prepared.values()))
        outcomes = train_together(
            partial(base.to_train, keys=some.recipe),
            lessons,
            state,
            device=some.loaded.device,
            at_once=len(lessons) if request.together == "auto" else request.together,
        )
        left = {name: waiting[name] for name in prepared if name in waiting}
        if outcomes is None:
            print("This model is trained on one task at a time: in rows of several it differs.")
            return list(left.values())
        write_json(state / _MEMBERS, members)
        found: dict[str, list[Trained | Exception]] = {name: [] for name in prepared}
        try:
            for lesson, outcome in outcomes:
                name = lesson.rpartition("@")[0]
                found[name].append(outcome)
                # Who was finished before trains along for the sake of the others, whose sums it is part of.
                if name in left and len(found[name]) == len(prepared[name].rates):
                    print(name, flush=True)
                    run_cell(left.pop(name), partial(_test, prepared[name], found.pop(name)))
                    free_memory()
        except CannotShare as why:
            print(f"The rest is trained one task at a time: {why}.")
        return list(left.values())


_MEMBERS = "members.json"


def _members(state: Path, waiting: list[str]) -> list[str]:
    """Those of the state that is there, if it is of all that is to do; they go on side by side."""
    with suppress(OSError, ValueError):
        members = json.loads((state / _MEMBERS).read_text(encoding="utf-8"))
        if set(members) >= set(waiting):
            return members
    return waiting


def _test(prepared: Prepared, outcomes: list[Trained | Exception], _: GridCell) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    put_test(prepared, [outcome for outcome in outcomes if isinstance(outcome, Trained)])
