"""Train tiny models on samples of random tokens."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.tiny_models import VOCABULARY, make_tiny_model
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.run import TrainingResult, train
from workflow_scripts.training.samples import Sample, Samples
from workflow_scripts.training.spec import TrainingSpec

make_model = partial(make_tiny_model, layers=4)


def make_samples(lengths, seed: int = 0, loss_start: int = 1) -> Samples:
    """Draw samples with loss from position `loss_start`; shorter samples have loss on their last token."""
    rng = np.random.default_rng(seed)
    samples = []
    for length in lengths:
        tokens = rng.integers(3, VOCABULARY, length).astype(np.int32)
        samples.append(Sample(tokens, np.arange(length) >= min(loss_start, length - 1)))
    return Samples.from_list(samples)


def draw_samples(count: int, seed: int = 0) -> Samples:
    return make_samples(np.random.default_rng(seed).integers(2, 24, count), seed)


def make_keys(**changes: Any) -> TrainingKeys:
    usual = {"batch_size": 4, "learning_rate": 1e-3, "save_steps": 3, "precision": "float32"}
    return TrainingKeys(**usual | changes)


def train_tiny(
    state: Path, kind: str = "qwen2", samples: Samples | None = None, held_out=None, **changes: Any
) -> TrainingResult:
    """Train a model of this kind, or the one that `load` returns; other `changes` are recipe keys."""
    load = changes.pop("load", lambda dtype: make_model(kind).to(getattr(torch, dtype)))
    options = {name: changes.pop(name) for name in ("score", "best_by") if name in changes}
    spec = TrainingSpec(
        draw_samples(24) if samples is None else samples,
        seed=changes.pop("seed", 0),
        resume_key=changes.pop("resume_key", {"weights": kind}),
        keys=make_keys(**changes),
        device="cpu",
        held_out=held_out,
        **options,
    )
    return train(load, spec, state)


def list_losses(trained: TrainingResult) -> list[float]:
    return [entry["loss"] for entry in trained.history if "loss" in entry]


def is_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    """Return whether two sets of parameters are bitwise equal."""
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
