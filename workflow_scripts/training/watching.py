"""What watches a training while it runs: signals that want it to end, and losses gone wrong."""

import math
import signal
import time
from collections import deque
from typing import Any

import torch
from transformers import TrainerCallback

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training.processes import signals_to
from workflow_scripts.training.state import StateFolder

_RECENT = 5
_SECONDS, _TIMES_AS_LONG = 300, 10


class SaveClock:
    """When five minutes' work would be lost, where nobody says after how many steps to save.

    Later where a state takes long to write, which is not to take more than a tenth of the time.
    """

    def __init__(self):
        self._saved, self._took = time.monotonic(), 0.0
        self._asked = self._saved

    @property
    def due(self) -> bool:
        self._asked = time.monotonic()
        return self._asked - self._saved > max(_SECONDS, _TIMES_AS_LONG * self._took)

    def saved(self) -> None:
        self._saved = time.monotonic()
        self._took = self._saved - self._asked


class Leaving:
    """Whether a signal has come: then a training saves after its step, and leaves."""

    def __init__(self):
        self.wanted = False

    def listening(self):
        return signals_to(self._hear)

    def _hear(self, number, frame) -> None:
        print(f"{signal.Signals(number).name}: will save after this step and leave.", flush=True)
        self.wanted = True

    def leave(self, after: str) -> None:
        """End the training once the state is saved; `after` names the step."""
        raise Interrupted(
            f"Interrupted after {after}, which is saved; the same command resumes from there."
        )


class SaveAndLeave(TrainerCallback):
    """After a signal: finish the step, save, seal, leave; save after each so many steps, or when it is time, and
    at the end."""

    def __init__(self, state: StateFolder, every: int | None = None):
        self._state, self.leaving, self._clock = state, Leaving(), SaveClock()
        self._every = every
        self._group: Any = None
        self._leaves = False

    def on_train_begin(self, args, state, control, **kwargs):
        if args.world_size > 1:  # of their CPUs: a GPU answers behind its step
            self._group = torch.distributed.new_group(backend="gloo")

    def on_step_end(self, args, state, control, **kwargs):
        leaves = self.leaving.wanted
        by_time = self._clock.due
        due = state.global_step % self._every == 0 if self._every else by_time
        due = due or state.global_step >= state.max_steps
        if args.world_size > 1:  # a signal, and the time, reach the processes at different steps
            told = torch.tensor([leaves, due], dtype=torch.int32)
            torch.distributed.all_reduce(told, torch.distributed.ReduceOp.MAX, self._group)
            leaves, due = (bool(one) for one in told)
        self._leaves = leaves  # a signal that comes from here on is for the next step
        if leaves or due:
            control.should_save = True

    def on_save(self, args, state, control, **kwargs):
        if args.world_size > 1:  # each writes files of its own
            torch.distributed.barrier(self._group)
        if state.is_world_process_zero:
            self._state.seal(state.global_step)
        if args.world_size > 1:  # and none leaves before they are sealed, which takes long for many
            torch.distributed.barrier(self._group)
        self._clock.saved()
        if self._leaves:
            self.leaving.leave(f"step {state.global_step} of {state.max_steps}")


class StopWhenDiverged(TrainerCallback):
    """Before a broken state could be saved: stop, and say where."""

    def __init__(self, vocabulary: int):
        self._know_nothing = math.log(vocabulary)  # the loss of giving each token the same chance
        self._first: float | None = None
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def on_train_begin(self, args, state, control, **kwargs):
        for entry in state.log_history:  # of a state that is gone on from
            if "loss" in entry:
                self._remember(entry["loss"])

    def _remember(self, loss: float) -> None:
        if self._first is None:
            self._first = loss
        self._recent.append(loss)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" not in logs:
            return
        for name, words in (("loss", "loss"), ("grad_norm", "gradient's norm")):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UserError(_stopped(state, f"the {words} is {logs[name]}"))
        self._remember(logs["loss"])
        recent = sum(self._recent) / _RECENT
        limit = 1.5 * max(self._first or 0.0, self._know_nothing)
        if len(self._recent) == _RECENT and recent > limit:
            raise UserError(
                _stopped(
                    state,
                    f"the loss was {recent:.2f} in the last {_RECENT} steps, half as much again as that"
                    f" of the start or of a uniform prediction ({limit / 1.5:.2f})",
                )
            )


def _stopped(state, what: str) -> str:
    return (
        f"Training stopped at step {state.global_step} of {state.max_steps}: {what}. The last good"
        " state is kept. A lower learning_rate or a longer warm_up is the usual remedy."
    )
