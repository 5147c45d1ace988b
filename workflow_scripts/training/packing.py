"""Order the samples of a training, and collate micro-batches.

The order depends only on the seed and the epoch; the micro-batch size divides the samples of an optimizer step. A
packed micro-batch is one row of concatenated samples, with positions counted from the start of each sample. A padded
micro-batch has one row per sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.training.samples import Sample

IGNORED = -100  # label of tokens outside the loss


@dataclass
class EpochSampler(Sampler):
    """A sampler of all indices of `num_samples` samples in an order that depends on the epoch."""

    num_samples: int
    seed: int
    epoch: int = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; the Trainer calls this before each."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng(derive_seed(self.seed, "order", self.epoch))
        return iter(rng.permutation(self.num_samples).tolist())

    def __len__(self) -> int:
        return self.num_samples


def collate(samples: list[Sample], packing: bool) -> dict[str, Any]:
    """Collate samples to the model's arguments and labels, and for a packed row the `lengths` of its samples."""
    tokens = [torch.from_numpy(sample.tokens.astype(np.int64)) for sample in samples]
    labels = [
        ids.masked_fill(~torch.from_numpy(sample.loss_mask), IGNORED)
        for ids, sample in zip(tokens, samples, strict=True)
    ]
    if packing:
        lengths = [len(ids) for ids in tokens]
        return {
            "input_ids": torch.cat(tokens)[None],
            "position_ids": torch.cat([torch.arange(n) for n in lengths])[None],
            "labels": torch.cat(labels)[None],
            "lengths": lengths,
        }
    mask = [torch.ones_like(ids) for ids in tokens]
    return {
        "input_ids": pad_sequence(tokens, True),  # the padding is masked, so any token does
        "attention_mask": pad_sequence(mask, True),
        "labels": pad_sequence(labels, True, IGNORED),
    }
