"""Specify one training run, and derive its fingerprint and number of steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.hub.load import choose_dtype
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.packing import EpochSampler
from workflow_scripts.training.samples import Samples

Scorer = Callable[[Any], dict[str, float]]


@dataclass(frozen=True)
class TrainingSpec:
    """The samples and settings of a training run.

    `resume_key` identifies everything that affects the outcome besides keys and seed: weights, data, versions. `score`
    maps the model to further metrics at each evaluation; `best_by` is the metric that selects the best state, and
    whether greater is better.
    """

    samples: Samples
    keys: TrainingKeys
    seed: int
    resume_key: dict[str, Any]
    device: str
    held_out: Samples | None = None
    score: Scorer | None = None
    best_by: tuple[str, bool] = ("loss", False)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that affects the outcome; a run does not resume from a state with another fingerprint."""
        keys = self.keys.model_dump(mode="json")
        return {"keys": keys, "seed": self.seed, "precision": self.precision, **self.resume_key}

    @property
    def precision(self) -> str:
        """The dtype of the forward and backward pass; trained parameters are float32 in any case."""
        return choose_dtype(self.keys.precision, self.device)

    @property
    def evaluates(self) -> bool:
        """Return whether the model is evaluated during training: on held-out samples, by `score`, or both."""
        return bool(self.held_out) or self.score is not None

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.samples) / self.keys.batch_size)

    @property
    def steps(self) -> int:
        return int(min(self.keys.epochs * self.steps_per_epoch, self.keys.max_steps or math.inf))

    def make_sampler(self, epoch: int = 0) -> EpochSampler:
        """Make the sampler that determines the order of the samples in an epoch."""
        return EpochSampler(len(self.samples), self.seed, epoch)

    def count_tokens(self, steps: int) -> int:
        """Count the tokens of the first `steps` steps, without padding."""
        epochs, remaining_steps = divmod(steps, self.steps_per_epoch)
        last = list(self.make_sampler(epochs))[: remaining_steps * self.keys.batch_size]
        lengths = self.samples.lengths
        return int(epochs * lengths.sum() + lengths[last].sum())
