"""Specify one training run, and derive from it what is known before anything is loaded."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.samples import Samples

Scorer = Callable[[Any], dict[str, float]]


@dataclass(frozen=True)
class TrainingSpec:
    """Specify what is trained on, and how.

    `resume_key` names what decides the outcome besides keys and seed: weights, data, versions. `score` measures more
    at each evaluation, and `best_by` names the metric that selects, and whether larger is better.
    """

    samples: Samples
    keys: TrainingKeys
    seed: int
    resume_key: dict[str, Any]
    held_out: Samples | None = None
    score: Scorer | None = None
    best_by: tuple[str, bool] = ("loss", False)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return all that decides the outcome: a state with another fingerprint is not resumed from."""
        return {"keys": self.keys.model_dump(mode="json"), "seed": self.seed, **self.resume_key}

    @property
    def evaluates(self) -> bool:
        return bool(self.held_out) or self.score is not None

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.samples) / self.keys.batch_size)

    @property
    def steps(self) -> int:
        return int(min(self.keys.epochs * self.steps_per_epoch, self.keys.max_steps or math.inf))
