"""What the steps of a training came to, kept where it was calculated until it is read.

A number that is read from a GPU waits for all that it was given before. So losses and gradients'
norms are read together, every so many steps and whenever a state is saved or evaluated.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

EVERY = {"cpu": 1}
# A training that goes wrong is noticed within so many steps, and before it is saved.
_EVERY_ON_A_GPU = 25


def steps_between_reads(device: torch.device) -> int:
    return EVERY.get(device.type, _EVERY_ON_A_GPU)


class StepsToRead:
    def __init__(self, device: torch.device):
        self._every = steps_between_reads(device)
        self._steps: list[tuple[int, float, float]] = []
        self._values: list[Tensor] = []

    @property
    def full(self) -> bool:
        return len(self._steps) >= self._every

    def add(self, state, loss: Tensor, norm: Tensor, learning_rate: float) -> None:
        """The loss of the step that the trainer's state is at, and its gradient's norm."""
        self._steps.append((state.global_step, state.epoch, learning_rate))
        whole = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        self._values.append(torch.stack([loss, whole.to(loss)]))

    def read(self, accelerator) -> Iterator[tuple[int, float, dict[str, Any]]]:
        """For each step its number, its epoch and what is logged of it; of several processes the mean."""
        if not self._steps:
            return
        values = torch.stack(self._values)
        values = accelerator.reduce(values, "mean") if accelerator.num_processes > 1 else values
        steps, self._steps, self._values = self._steps, [], []
        for (step, epoch, learning_rate), (loss, norm) in zip(steps, values.tolist(), strict=True):
            yield step, epoch, {"loss": loss, "grad_norm": norm, "learning_rate": learning_rate}
