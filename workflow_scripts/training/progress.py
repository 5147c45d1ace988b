"""The bar in the log, and how fast it went."""

import sys
import time
from pathlib import Path

from tqdm import tqdm
from transformers import TrainerCallback


class Progress(TrainerCallback):
    """One bar over all steps; time between the first step and the last, evaluations left out."""

    def __init__(self):
        self.first_step, self.step_seconds = 0, 0.0
        self._bar = None
        self._begun: float | None = None  # of the steps that have not been read yet

    def on_train_begin(self, args, state, control, **kwargs):
        self.first_step = state.global_step
        if state.is_world_process_zero:
            self._bar = tqdm(
                total=state.max_steps,
                initial=state.global_step,
                file=sys.stdout,
                mininterval=2.0,
                unit="step",
            )

    def on_step_begin(self, args, state, control, **kwargs):
        if self._begun is None:
            self._begun = time.monotonic()

    def on_step_end(self, args, state, control, **kwargs):
        if self._bar is not None:
            self._bar.update()

    def on_log(self, args, state, control, logs=None, **kwargs):
        # A GPU has done the steps only when their losses are read.
        if "loss" in logs and self._begun is not None:
            self.step_seconds += time.monotonic() - self._begun
            self._begun = None
        if self._bar is None:
            return
        if "loss" in logs:
            self._bar.set_postfix(loss=f"{logs['loss']:.3f}", refresh=False)
        evaluated = {k.removeprefix("eval_"): v for k, v in logs.items() if k.startswith("eval_")}
        if evaluated:
            words = ", ".join(f"{name} {value:.4f}" for name, value in evaluated.items())
            self._bar.write(f"step {state.global_step}: held out {words}", file=sys.stdout)

    def on_train_end(self, args, state, control, **kwargs):
        if self._bar is not None:
            self._bar.close()


def to_tensorboard(folder: Path) -> TrainerCallback:
    """Writes the curves as they grow, beside the record and not into the state, which is removed."""
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    return TensorBoardCallback(SummaryWriter(str(folder)))
