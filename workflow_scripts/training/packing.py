"""Which samples go through the model together, and how they lie in memory.

An optimiser step takes `batch_size` samples, in an order that depends on the seed and the epoch
alone. They go through the model in micro-batches. Packed, a micro-batch is one row: sample after
sample, each position counted from the start of its own. Padded, it is one row a sample.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.training.loss import IGNORED
from workflow_scripts.training.samples import BLANK, Sample, Samples


class Order(Sampler):
    """Micro-batches of sample numbers; each `batch_size` samples they fill make one step.

    Only the last step of an epoch may have fewer samples. Of several processes each takes its share
    of every step, and all take the same number of micro-batches, filled up with blank samples.
    """

    def __init__(
        self,
        samples: int,
        batch_size: int,
        micro_batch_size: int,
        seed: int,
        process: int = 0,
        processes: int = 1,
    ):
        self.samples, self.batch_size, self.micro_batch_size = samples, batch_size, micro_batch_size
        self.process, self.processes = process, processes
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def steps(self) -> Iterator[list[list[int]]]:
        """Yield the micro-batches of this process, step by step."""
        rng = np.random.default_rng(derive_seed(self.seed, "order", self.epoch))
        order = rng.permutation(self.samples).tolist()
        for start in range(0, self.samples, self.batch_size):
            step = order[start : start + self.batch_size]
            share = math.ceil(len(step) / self.processes)
            mine = step[self.process :: self.processes]
            mine += [BLANK] * (share - len(mine))
            micro = self.micro_batch_size
            yield [mine[first : first + micro] for first in range(0, share, micro)]

    def __iter__(self) -> Iterator[list[int]]:
        for step in self.steps():
            yield from step

    def __len__(self) -> int:
        whole, rest = divmod(self.samples, self.batch_size)
        return whole * self._micro_batches(self.batch_size) + self._micro_batches(rest)

    def _micro_batches(self, samples: int) -> int:
        share = math.ceil(samples / self.processes)
        return math.ceil(share / self.micro_batch_size)


@dataclass(frozen=True)
class Collator:
    """Make a batch of samples: what the model is called with, and the labels."""

    packing: bool
    padding_token: int

    def __call__(self, chosen: list[Sample]) -> dict[str, Any]:
        return _pack(chosen) if self.packing else _pad(chosen, self.padding_token)


def _pack(chosen: list[Sample]) -> dict[str, Any]:
    tokens = torch.from_numpy(np.concatenate([s.tokens for s in chosen]).astype(np.int64))
    counted = torch.from_numpy(np.concatenate([s.counted for s in chosen]))
    lengths = [len(s.tokens) for s in chosen]
    return {
        "input_ids": tokens[None],
        "position_ids": torch.cat([torch.arange(n) for n in lengths])[None],
        "labels": tokens.masked_fill(~counted, IGNORED)[None],
        "lengths": lengths,
    }


def _pad(chosen: list[Sample], padding_token: int) -> dict[str, Any]:
    longest = max(len(s.tokens) for s in chosen)
    ids = torch.full((len(chosen), longest), padding_token)
    labels = torch.full_like(ids, IGNORED)
    mask = torch.zeros_like(ids)
    for row, sample in enumerate(chosen):
        size = len(sample.tokens)
        tokens = torch.from_numpy(sample.tokens.astype(np.int64))
        ids[row, :size], mask[row, :size] = tokens, 1
        labels[row, :size] = tokens.masked_fill(~torch.from_numpy(sample.counted), IGNORED)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def count_tokens(samples: Samples, order: Order, steps: int, *, padded: bool) -> tuple[int, float]:
    """Count the tokens of so many steps of this order, and the share of all positions that hold none."""
    lengths = samples.lengths
    whole = Order(order.samples, order.batch_size, order.micro_batch_size, order.seed)
    tokens = positions = epoch = 0
    while steps > 0:
        whole.set_epoch(epoch)
        for step in islice(whole.steps(), steps):
            for micro in step:
                row_lengths = lengths[micro]
                tokens += int(row_lengths.sum())
                rows = row_lengths.max() * len(micro) if padded else row_lengths.sum()
                positions += int(rows)
            steps -= 1
        epoch += 1
    return tokens, 1 - tokens / positions if positions else 0.0
