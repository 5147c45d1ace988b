"""Keep the trained parameters of the best evaluation, so that it can be had back at the end."""

import math
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from transformers import TrainerCallback

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    atomic_path,
    is_altered,
    read_sealed,
    sha256_file,
    write_sealed,
)
from workflow_scripts.training.trained_parameters import SavedTensors, gathered_parameters

_NOTE = "best.json"


def is_best_whole(folder: Path) -> bool:
    """Whether the best state that a folder has, if it has one, is as it was written.

    No later state can replace it: a training that has lost it begins at the beginning.
    """
    if not (folder / _NOTE).exists():
        return True
    best = read_sealed(folder / _NOTE)
    return best is not None and not is_altered(folder / best["file"], best["sha256"])


class KeepBest(TrainerCallback):
    """By one of the evaluation's metrics; of equals, the earlier. With patience the training ends with the
    first evaluation that is no better.
    """

    def __init__(self, folder: Path, best_by: tuple[str, bool], select: str):
        self._metric, larger_is_better = best_by
        self._folder, self._sign = folder, 1 if larger_is_better else -1
        self._ends = select == "patience"

    def on_evaluate(self, args, state, control, metrics=None, model=None, **kwargs):
        value = metrics.get(f"eval_{self._metric}")
        if value is None:
            known = ", ".join(sorted(name.removeprefix("eval_") for name in metrics))
            raise UserError(f"best_by is {self._metric!r}; the evaluation gives {known}.")
        if not math.isfinite(value):
            return
        best = self.best()
        # After a kill some evaluations are done again, and come out as they did.
        if best and self._sign * best["value"] >= self._sign * value:
            if self._ends and best["step"] < state.global_step:
                control.should_training_stop = True
                if state.is_world_process_zero:
                    write_sealed(self._folder / _NOTE, best | {"ended": state.global_step})
            return
        tensors = gathered_parameters(model)
        if not state.is_world_process_zero:
            return
        name = f"best-{state.global_step}.safetensors"
        with atomic_path(self._folder / name) as temporary:
            save_file(tensors, temporary)
        kept = {"step": state.global_step, "epoch": state.epoch, "value": value, "file": name}
        kept["sha256"] = sha256_file(self._folder / name)
        write_sealed(self._folder / _NOTE, kept)
        for old in self._folder.glob("best-*.safetensors"):
            if old.name != name:
                old.unlink()

    def best(self) -> dict[str, Any] | None:
        return read_sealed(self._folder / _NOTE)

    @property
    def ended(self) -> int | None:
        """The step at which patience was over."""
        return (self.best() or {}).get("ended")

    def selected(self) -> dict[str, Any]:
        """Of the state that is kept: its step, and by which metric and value."""
        best = self._kept()
        return {"step": best["step"], "by": self._metric, "value": best["value"]}

    def tensors(self) -> SavedTensors:
        return SavedTensors(self._folder / self._kept()["file"])

    def _kept(self) -> dict[str, Any]:
        best = self.best()
        assert best is not None, "no evaluation has kept its state"
        return best
