"""Callbacks of a training: save and leave, stop when the loss diverges, and show the progress."""

import math
import signal
import time
from contextlib import AbstractContextManager
from typing import Any

import torch
from transformers import ProgressCallback, TrainerCallback

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training.processes import signals_to
from workflow_scripts.training.state import StateFolder

SAVE_SECONDS = 300
_RECENT = 5


class SaveAndLeave(TrainerCallback):
    """Save every five minutes where no number of steps is given, and after a signal save and leave.

    The Trainer's `enable_jit_checkpoint` saves amid a step, with the random state of a forward pass that
    is done once more, so that a training with dropout would not end with the same bytes.
    """

    def __init__(self, state: StateFolder, by_time: bool):
        self._state, self._by_time = state, by_time
        self._saved = time.monotonic()
        self._signalled = self._leaves = False
        self._group: Any = None

    def listen(self) -> AbstractContextManager:
        """Take signals as a wish to save and leave."""
        return signals_to(self._note_signal)

    def _note_signal(self, number, frame) -> None:
        print(f"{signal.Signals(number).name}: will save after this step and leave.", flush=True)
        self._signalled = True

    def on_train_begin(self, args, state, control, **kwargs):
        if args.world_size > 1:  # of their CPUs: a GPU answers behind its step
            self._group = torch.distributed.new_group(backend="gloo")

    def on_step_end(self, args, state, control, **kwargs):
        leaves = self._signalled
        due = self._by_time and time.monotonic() - self._saved > SAVE_SECONDS
        if args.world_size > 1:  # a signal, and the time, reach the processes at different steps
            wishes = torch.tensor([leaves, due], dtype=torch.int32)
            torch.distributed.all_reduce(wishes, torch.distributed.ReduceOp.MAX, self._group)
            leaves, due = (bool(wish) for wish in wishes)
        self._leaves = leaves  # a signal that comes from here on is for the next step
        if leaves or due:
            control.should_save = True

    def on_save(self, args, state, control, **kwargs):
        if args.world_size > 1:  # each writes files of its own
            torch.distributed.barrier(self._group)
        if state.is_world_process_zero:
            self._state.seal(state.global_step)
        if args.world_size > 1:  # none leaves before they are sealed
            torch.distributed.barrier(self._group)
        self._saved = time.monotonic()
        if self._leaves:
            raise Interrupted(
                f"Interrupted after step {state.global_step} of {state.max_steps}, which is saved;"
                " the same command resumes from there."
            )


class StopWhenDiverged(TrainerCallback):
    """Stop before a broken state could be saved, and say where."""

    def __init__(self, vocabulary: int):
        self._uniform = math.log(vocabulary)  # the loss of giving each token the same chance
        self._losses: list[float] = []

    def on_train_begin(self, args, state, control, **kwargs):
        self._losses = [entry["loss"] for entry in state.log_history if "loss" in entry]

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" not in logs:
            return
        for name, words in (("loss", "loss"), ("grad_norm", "gradient's norm")):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UserError(_describe_stop(state, f"the {words} is {logs[name]}"))
        self._losses.append(logs["loss"])
        recent = sum(self._losses[-_RECENT:]) / _RECENT
        start = max(self._losses[0], self._uniform)
        if len(self._losses) >= _RECENT and recent > 1.5 * start:
            what = (
                f"the loss was {recent:.2f} in the last {_RECENT} steps, half as much again as that of"
                f" the start or of a uniform prediction ({start:.2f})"
            )
            raise UserError(_describe_stop(state, what))


def _describe_stop(state, what: str) -> str:
    return (
        f"Training stopped at step {state.global_step} of {state.max_steps}: {what}. The last good"
        " state is kept. A lower learning_rate or a longer warm_up is the usual remedy."
    )


class Progress(ProgressCallback):
    """Show the last loss in the bar, and time the steps without the evaluations."""

    def __init__(self):
        super().__init__()
        self.first_step, self.step_seconds = 0, 0.0
        self._step_start = 0.0

    def on_train_begin(self, args, state, control, **kwargs):
        super().on_train_begin(args, state, control, **kwargs)
        self.first_step = state.global_step
        if self.training_bar is not None:
            self.training_bar.mininterval = 2.0

    def on_step_begin(self, args, state, control, **kwargs):
        self._step_start = time.monotonic()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" not in logs:
            super().on_log(args, state, control, logs=logs, **kwargs)
            return
        # A GPU has done the step only when its loss is read.
        self.step_seconds += time.monotonic() - self._step_start
        if self.training_bar is not None:
            self.training_bar.set_postfix(loss=f"{logs['loss']:.3f}", refresh=False)
