"""Define training callbacks: save and exit on a signal, and stop if the loss is not finite."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from transformers import TrainerCallback

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training.state import StateFolder

SAVE_SECONDS = 300
# Slurm sends SIGUSR1 before the time limit if the profile requests it, and SIGTERM at preemption; users and system
# shutdowns send SIGTERM too.
_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class CheckpointOnSignal(TrainerCallback):
    """Seal each checkpoint, save every five minutes if `save_steps` is not set, and on a signal save and exit.

    The Trainer's `enable_jit_checkpoint` is not used. It saves within a step, with the random state after a forward
    pass that is repeated on resume, so training with dropout would not be reproducible bit for bit.
    """

    def __init__(self, state: StateFolder, saves_by_time: bool):
        self._state = state
        self._saves_by_time = saves_by_time
        self._last_save = time.monotonic()
        self._signalled = self._exits_after_save = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        previous = {number: signal.signal(number, self._record_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, action in previous.items():
                signal.signal(number, action)

    def _record_signal(self, number, frame) -> None:
        print(f"{signal.Signals(number).name}: will save after this step and exit.", flush=True)
        self._signalled = True

    def on_step_end(self, args, state, control, **kwargs):
        is_due = self._saves_by_time and time.monotonic() - self._last_save > SAVE_SECONDS
        self._exits_after_save = self._signalled  # a later signal is handled after the next step
        control.should_save |= self._exits_after_save or is_due

    def on_save(self, args, state, control, **kwargs):
        self._state.seal(state.global_step)
        self._last_save = time.monotonic()
        if self._exits_after_save:
            raise Interrupted(
                f"Interrupted after step {state.global_step} of {state.max_steps}, which is saved;"
                " the same command resumes from there."
            )


class StopOnNonFiniteLoss(TrainerCallback):
    """Stop with an error that names the step, before an invalid state is saved."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        for name in ("loss", "grad_norm"):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UserError(
                    f"Training stopped at step {state.global_step} of {state.max_steps}: {name} is"
                    f" {logs[name]}. The last good state is kept. A lower learning_rate or a longer"
                    " warmup_ratio is the usual remedy."
                )
