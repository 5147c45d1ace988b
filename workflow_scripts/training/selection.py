"""Keep the trained parameters of the best evaluation, so that it can be had back at the end."""

import json
import math
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import TrainerCallback

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path, write_json
from workflow_scripts.training.trained_parameters import gathered_parameters


class KeepBest(TrainerCallback):
    """By one of the evaluation's metrics; of equals, the earlier."""

    def __init__(self, folder: Path, metric: str, larger_is_better: bool):
        self._folder, self._metric, self._sign = folder, metric, 1 if larger_is_better else -1

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
            return
        tensors = gathered_parameters(model)
        if not state.is_world_process_zero:
            return
        name = f"best-{state.global_step}.safetensors"
        with atomic_path(self._folder / name) as temporary:
            save_file(tensors, temporary)
        write_json(
            self._folder / "best.json",
            {"step": state.global_step, "epoch": state.epoch, "value": value, "file": name},
        )
        for old in self._folder.glob("best-*.safetensors"):
            if old.name != name:
                old.unlink()

    def best(self) -> dict[str, Any] | None:
        path = self._folder / "best.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def selected(self) -> dict[str, Any]:
        """Of the state that is kept: its step, and by which metric and value."""
        best = self._kept()
        return {"step": best["step"], "by": self._metric, "value": best["value"]}

    def tensors(self) -> dict[str, Tensor]:
        return load_file(self._folder / self._kept()["file"])

    def _kept(self) -> dict[str, Any]:
        best = self.best()
        assert best is not None, "no evaluation has kept its state"
        return best
