"""Callbacks of a training: save and exit on a signal, and stop when the loss is not finite."""

import math
import signal
import time
from contextlib import AbstractContextManager
from typing import Any

import torch
from transformers import TrainerCallback

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training.processes import handle_signals
from workflow_scripts.training.state import StateFolder

SAVE_SECONDS = 300


class CheckpointOnSignal(TrainerCallback):
    """Seal each checkpoint, save every five minutes where no number of steps is set, and on a signal save and exit.

    The Trainer's `enable_jit_checkpoint` saves amid a step, with the random state after a forward pass that is
    repeated, so that a training with dropout would not end with the same bytes.
    """

    def __init__(self, state: StateFolder, by_time: bool):
        self._state, self._by_time = state, by_time
        self._saved = time.monotonic()
        self._signalled = self._exits = False
        self._group: Any = None

    def handle_signals(self) -> AbstractContextManager:
        return handle_signals(self._record_signal)

    def _record_signal(self, number, frame) -> None:
        print(f"{signal.Signals(number).name}: will save after this step and exit.", flush=True)
        self._signalled = True

    def on_train_begin(self, args, state, control, **kwargs):
        if args.world_size > 1:  # between their CPUs: a GPU answers after its step
            self._group = torch.distributed.new_group(backend="gloo")

    def on_step_end(self, args, state, control, **kwargs):
        due = self._by_time and time.monotonic() - self._saved > SAVE_SECONDS
        flags = torch.tensor([self._signalled, due], dtype=torch.int32)
        if (
            self._group is not None
        ):  # a signal, and the time, reach the processes at different steps
            torch.distributed.all_reduce(flags, torch.distributed.ReduceOp.MAX, self._group)
        self._exits = bool(flags[0])  # a signal that comes from here on is for the next step
        control.should_save |= bool(flags.any())

    def on_save(self, args, state, control, **kwargs):
        self._wait_for_all()  # each writes files of its own
        if state.is_world_process_zero:
            self._state.seal(state.global_step)
        self._wait_for_all()  # none exits before they are sealed
        self._saved = time.monotonic()
        if self._exits:
            raise Interrupted(
                f"Interrupted after step {state.global_step} of {state.max_steps}, which is saved;"
                " the same command resumes from there."
            )

    def _wait_for_all(self) -> None:
        if self._group is not None:
            torch.distributed.barrier(self._group)


class StopOnNonFiniteLoss(TrainerCallback):
    """Stop before a broken state could be saved, and name the step."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        for name in ("loss", "grad_norm"):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UserError(
                    f"Training stopped at step {state.global_step} of {state.max_steps}: {name} is"
                    f" {logs[name]}. The last good state is kept. A lower learning_rate or a longer"
                    " warmup_ratio is the usual remedy."
                )
