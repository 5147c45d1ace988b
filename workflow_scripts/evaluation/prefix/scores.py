"""Compute the log-likelihood of each continuation, and whether it is the greedy one."""

from collections import defaultdict
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .packed import PackedRun, cut_blocks, select_blocks
from .trie import Trie

Score = tuple[float, bool]  # log-likelihood, and whether greedy decoding gives the continuation


@dataclass(frozen=True)
class ScoreRequest:
    """The input tokens of a request, and the targets, which the last positions of the input predict."""

    inputs: Sequence[int]
    targets: Sequence[int]

    @classmethod
    def from_pair(
        cls, context: Sequence[int], continuation: Sequence[int], window: int
    ) -> "ScoreRequest":
        """Truncate a pair on the left to the window, as lm-eval does; the last token is only a target."""
        if not context or not 0 < len(continuation) <= window:
            raise ValueError(
                "A request needs a context, and a continuation that fits into the window."
            )
        tokens = [*context, *continuation]
        return cls(tokens[-(window + 1) :][:-1], continuation)


class LogprobAccumulator:
    """Sums of log-probabilities by request.

    Positions are added in any order. When a request is complete, its score is added to `answers`, unless it is there.
    """

    def __init__(self, requests: Sequence[ScoreRequest], answers: MutableMapping[int, Score]):
        self.is_uncached = np.array([index not in answers for index in range(len(requests))])
        self._answers = answers
        self._sums = np.zeros(len(requests))
        self._is_greedy = np.ones(len(requests), dtype=bool)
        self._num_missing = np.array([len(request.targets) for request in requests])

    def add(
        self, logits: torch.Tensor, rows: np.ndarray, targets: np.ndarray, requests: np.ndarray
    ) -> None:
        """Add the scores of `targets[i]` at row `rows[i]` of the logits to request `requests[i]`; rows ascend."""
        logprobs, is_best = _compute_logprobs(logits, rows, targets)
        np.add.at(self._sums, requests, logprobs)
        np.logical_and.at(self._is_greedy, requests, is_best)
        np.subtract.at(self._num_missing, requests, 1)
        for request in np.unique(requests).tolist():
            if self._num_missing[request] == 0 and self.is_uncached[request]:
                self._answers[request] = float(self._sums[request]), bool(self._is_greedy[request])


def _compute_logprobs(
    logits: torch.Tensor, rows: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-probability of `targets[i]` at row `rows[i]`, and whether it is the argmax; rows ascend."""
    row_index = torch.from_numpy(rows).to(logits.device)
    target_index = torch.from_numpy(targets).to(logits.device)
    # In float32, because bfloat16 sums are inaccurate; a few rows at a time, because the copies are large.
    step = 1024 if logits.is_cuda else 32
    logprobs, is_best = [], []
    for start in range(0, len(logits), step):
        block = logits[start : start + step].float()
        span = slice(*np.searchsorted(rows, [start, start + step]))
        row, target = row_index[span] - start, target_index[span]
        logprobs.append(block[row, target] - block.logsumexp(-1)[row])
        is_best.append(block.argmax(-1)[row] == target)
    # One copy to the CPU at the end, because each copy synchronises with the device.
    return torch.cat(logprobs).double().cpu().numpy(), torch.cat(is_best).cpu().numpy()


def score_packed(
    model,
    trie: Trie,
    sequence_indices: np.ndarray,
    requests: list[ScoreRequest],
    accumulator: LogprobAccumulator,
    block_size: int,
) -> None:
    """Score requests packed; the input of request i is the sequence with index `sequence_indices[i]` in the trie.

    Cached results do not change how the rest runs, so that a resumed job computes the same bytes as an uninterrupted
    one.
    """
    counts = [len(request.targets) for request in requests]
    depths = [
        np.arange(len(request.inputs) - count, len(request.inputs))
        for request, count in zip(requests, counts, strict=True)
    ]
    # Per target: its token, the node that predicts it, and the index of its request, in the order of the nodes.
    targets = np.concatenate([np.asarray(request.targets, dtype=np.int64) for request in requests])
    nodes = trie.find_nodes(np.repeat(sequence_indices, counts), np.concatenate(depths))
    order = np.argsort(nodes, kind="stable")
    nodes = nodes[order]
    targets = targets[order]
    indices = np.repeat(np.arange(len(requests)), counts)[order]
    blocks = cut_blocks(trie, block_size)
    spans = [slice(*np.searchsorted(nodes, edges)) for edges in blocks]
    is_needed = np.array([accumulator.is_uncached[indices[span]].any() for span in spans])
    run = PackedRun(model, trie, block_size)
    for number in np.flatnonzero(select_blocks(trie, blocks, is_needed)):
        span = spans[number]
        # Several requests may have a target after the same node.
        distinct, rows = np.unique(nodes[span], return_inverse=True)
        logits = run.run_block(*blocks[number], distinct)
        if len(rows):
            accumulator.add(logits, rows, targets[span], indices[span])


def score_plain(
    model, requests: list[ScoreRequest], accumulator: LogprobAccumulator, max_tokens: int
) -> int:
    """Score requests in batches padded on the right, longest first, each distinct input once.

    Return the number of tokens of all batches, with padding.
    """
    indices = defaultdict(list)
    for index, request in enumerate(requests):
        indices[tuple(request.inputs)].append(index)
    remaining = sorted(indices, key=len, reverse=True)
    tokens = 0
    while remaining:
        size = max(1, max_tokens // len(remaining[0]))
        batch, remaining = remaining[:size], remaining[size:]
        tokens += len(batch) * len(batch[0])
        batch_indices = [index for inputs in batch for index in indices[inputs]]
        if not accumulator.is_uncached[batch_indices].any():
            continue
        for inputs, logits in zip(batch, model.run_plain(batch), strict=True):
            for index in indices[inputs]:
                targets = np.asarray(requests[index].targets)
                scored = logits[len(inputs) - len(targets) : len(inputs)]
                rows = np.arange(len(targets))
                accumulator.add(scored, rows, targets, np.full(len(rows), index))
    return tokens
