"""Tiny models, samples of random tokens, and one short way to train the former on the latter."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.unit.chunked.reference import base_model, chunked_model
from tests.unit.evaluation.tiny_models import make_model
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.run import Trained, train
from workflow_scripts.training.samples import Sample, Samples

VOCABULARY = 61
PLAN = {"num_layers_per_chunk": 2, "num_chunks": 2, "adapter_hidden_size": 6}
LAYERS = 6  # of which the chunks hold 1 to 4
KINDS = ("qwen2", "qwen3", "llama", "gpt_neox", "fused", "loop")


def model_of(kind: str, attention: str = "sdpa", seed: int = 0):
    """Weights far from the usual small ones, so that what goes wrong shows."""
    torch.manual_seed(seed)
    if kind in ("fused", "loop"):
        base = base_model("qwen2", LAYERS, attention)
        return chunked_model(base, "qwen2", attention, **PLAN, chunk_execution=kind)
    if kind in ("gpt_neox", "windowed", "some_windowed"):
        model = make_model(kind, VOCABULARY, window=2048)
        model.set_attn_implementation(attention)
        return model
    return base_model(kind, LAYERS, attention)


def samples_of(lengths, seed: int = 0, counted_from: int = 1) -> Samples:
    """Random tokens; those from a position on count, of a sample too short for that its last."""
    rng = np.random.default_rng(seed)
    made = []
    for length in lengths:
        tokens = rng.integers(3, VOCABULARY, length).astype(np.int32)
        made.append(Sample(tokens, np.arange(length) >= min(counted_from, length - 1)))
    return Samples.of(made)


def drawn_samples(count: int, seed: int = 0, most: int = 24) -> Samples:
    rng = np.random.default_rng(seed)
    return samples_of(rng.integers(2, most, count), seed)


def keys_of(**changes: Any) -> TrainingKeys:
    usual = {"batch_size": 4, "learning_rate": 1e-3, "save_every": 3}
    return TrainingKeys(**usual | changes)


def train_small(
    state: Path, kind: str = "qwen2", samples: Samples | None = None, held_out=None, **changes: Any
) -> Trained:
    """`load` makes a model of the kind; options of `train` itself are told apart from keys."""
    own = ("load", "score", "best_by", "belongs_to", "seed", "device")
    options = {name: changes.pop(name) for name in own if name in changes}
    return train(
        options.pop("load", lambda dtype: model_of(kind).to(getattr(torch, dtype))),
        drawn_samples(24) if samples is None else samples,
        held_out,
        state,
        **{
            "keys": keys_of(**changes),
            "device": "cpu",
            "seed": 0,
            "belongs_to": {"weights": kind},
            "padding_token": 0,
            **options,
        },
    )


def losses(trained: Trained) -> list[float]:
    return [entry["loss"] for entry in trained.history if "loss" in entry]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)
