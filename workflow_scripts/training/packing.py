"""Group samples into optimizer steps and micro-batches, and collate micro-batches.

An optimizer step has `batch_size` samples, in an order that depends only on the seed and the epoch, and runs in
micro-batches. A packed micro-batch is one row of concatenated samples, with positions counted from the start of each
sample. A padded micro-batch has one row per sample.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.training.samples import Sample, Samples, batches

IGNORED = -100  # label of tokens outside the loss


class MicroBatchSampler(Sampler):
    """A sampler of micro-batches of sample indices; every `batch_size` samples make one step.

    Only the last step of an epoch may have fewer samples.
    """

    def __init__(self, samples: int, batch_size: int, micro_batch_size: int, seed: int):
        self.samples = samples
        self.batch_size = batch_size
        self.micro_batch_size = micro_batch_size
        self.seed = seed
        self.epoch = 0

    def draw(self, epoch: int) -> list[int]:
        """Return all sample indices in the order of an epoch."""
        rng = np.random.default_rng(derive_seed(self.seed, "order", epoch))
        return rng.permutation(self.samples).tolist()

    def __iter__(self) -> Iterator[list[int]]:
        for step in batches(self.draw(self.epoch), self.batch_size):
            yield from batches(step, self.micro_batch_size)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Collator:
    """A collator from samples to the model's arguments and the labels."""

    packing: bool
    padding_token: int

    def __call__(self, samples: list[Sample]) -> dict[str, Any]:
        tokens = [torch.from_numpy(sample.tokens.astype(np.int64)) for sample in samples]
        labels = [
            ids.masked_fill(~torch.from_numpy(sample.counted), IGNORED)
            for ids, sample in zip(tokens, samples, strict=True)
        ]
        if self.packing:
            lengths = [len(ids) for ids in tokens]
            return {
                "input_ids": torch.cat(tokens)[None],
                "position_ids": torch.cat([torch.arange(n) for n in lengths])[None],
                "labels": torch.cat(labels)[None],
                "lengths": lengths,
            }
        mask = [torch.ones_like(ids) for ids in tokens]
        return {
            "input_ids": pad_sequence(tokens, True, self.padding_token),
            "attention_mask": pad_sequence(mask, True),
            "labels": pad_sequence(labels, True, IGNORED),
        }


def count_tokens(samples: Samples, order: MicroBatchSampler, steps: int) -> int:
    """Count the tokens of the first `steps` steps of this order."""
    epochs, rest = divmod(steps, math.ceil(order.samples / order.batch_size))
    last = order.draw(epochs)[: rest * order.batch_size]
    return int(epochs * samples.lengths.sum() + samples.lengths[last].sum())
