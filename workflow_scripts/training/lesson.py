"""What one training is told, and what follows from it before anything is loaded."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.packing import Order, count_tokens
from workflow_scripts.training.samples import Samples

Scorer = Callable[[Any], dict[str, float]]

_SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}


@dataclass(frozen=True)
class Lesson:
    """What is to be learned, and how.

    `belongs_to` says what decides the outcome besides keys and seed: weights, data, versions. `score`
    measures more at each evaluation, and `best_by` names the metric that selects, and whether larger is
    better.
    """

    samples: Samples
    keys: TrainingKeys
    seed: int
    belongs_to: dict[str, Any]
    held_out: Samples | None = None
    score: Scorer | None = None
    best_by: tuple[str, bool] = ("loss", False)

    @property
    def owner(self) -> dict[str, Any]:
        """All that decides the outcome: a state of anything else is not gone on from.

        How many GPUs there are does not, but for rounding.
        """
        keys = self.keys.model_dump(mode="json", exclude={"gpus"})
        return {"keys": keys, "seed": self.seed, **self.belongs_to}

    @property
    def evaluates(self) -> bool:
        return bool(self.held_out) or self.score is not None

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.samples) / self.keys.batch_size)

    @property
    def steps(self) -> int:
        return int(min(self.keys.epochs * self.steps_per_epoch, self.keys.max_steps or math.inf))

    @property
    def warm_up_steps(self) -> int:
        return round(self.keys.warm_up * self.steps)

    @property
    def evaluate_every(self) -> int:
        return self.keys.evaluate_every or self.steps_per_epoch

    @property
    def schedule(self) -> str:
        """By transformers' name."""
        return _SCHEDULES[self.keys.schedule]

    def facts(self, order: Order, steps: int, *, padded: bool) -> dict[str, Any]:
        """What so many steps of this order have trained on: the same for each run of this training."""
        tokens, padding = count_tokens(self.samples, order, steps, padded=padded)
        return {
            "steps": steps,
            "samples": len(self.samples),
            "held_out_samples": len(self.held_out or ()),
            "tokens": tokens,
            "padding": padding,
        }
