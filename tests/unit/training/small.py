"""Samples of random tokens, and one short way to train tiny models on them."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.tiny_models import VOCABULARY, tiny_model
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.run import Trained, train
from workflow_scripts.training.samples import Sample, Samples
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.trainable_parameters import select_trainable

model_of = partial(tiny_model, layers=6)


def samples_of(lengths, seed: int = 0, counted_from: int = 1) -> Samples:
    """Draw tokens; those from a position on count, of a sample too short for that its last."""
    rng = np.random.default_rng(seed)
    samples = []
    for length in lengths:
        tokens = rng.integers(3, VOCABULARY, length).astype(np.int32)
        samples.append(Sample(tokens, np.arange(length) >= min(counted_from, length - 1)))
    return Samples.from_list(samples)


def drawn_samples(count: int, seed: int = 0) -> Samples:
    return samples_of(np.random.default_rng(seed).integers(2, 24, count), seed)


def keys_of(**changes: Any) -> TrainingKeys:
    return TrainingKeys(**{"batch_size": 4, "learning_rate": 1e-3, "save_every": 3} | changes)


def adapted(model):
    """Add low-rank adapters that are not what they start as."""
    torch.manual_seed(0)
    model = select_trainable(model, keys_of(method="lora", lora_rank=2))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.linspace(-0.3, 0.3, parameter.numel()).view_as(parameter))
    return model


def train_small(
    state: Path, kind: str = "qwen2", samples: Samples | None = None, held_out=None, **changes: Any
) -> Trained:
    """Train a model of the kind, or what `load` makes; what is no key of the recipe is told apart."""
    load = changes.pop("load", lambda dtype: model_of(kind).to(getattr(torch, dtype)))
    options = {name: changes.pop(name) for name in ("score", "best_by") if name in changes}
    lesson = TrainingSpec(
        drawn_samples(24) if samples is None else samples,
        seed=changes.pop("seed", 0),
        belongs_to=changes.pop("belongs_to", {"weights": kind}),
        keys=keys_of(**changes),
        held_out=held_out,
        **options,
    )
    return train(load, lesson, state, device="cpu", padding_token=0)


def losses(trained: Trained) -> list[float]:
    return [entry["loss"] for entry in trained.history if "loss" in entry]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Compare bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)
