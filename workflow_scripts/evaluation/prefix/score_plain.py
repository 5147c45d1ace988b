"""Score sequences in plain batches, padded to the right."""

from collections.abc import Iterator

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.predictions import Predictions
from workflow_scripts.evaluation.prefix.scores import Tally
from workflow_scripts.evaluation.prefix.trie import Trie

_MOST_PADDING = 0.05


def score_plain(
    model, trie: Trie, predictions: Predictions, tally: Tally, budget: Budget, preferred: int
) -> int:
    """Returns the tokens that scoring everything takes, whatever was known before."""
    of_sequence = predictions.by_sequence(len(trie.sequences))
    tokens = 0
    for batch in _batches(trie, of_sequence, budget, preferred):
        longest = len(trie.sequences[batch[0]])
        tokens += len(batch) * longest
        entries = np.concatenate([of_sequence[at] for at in batch])
        if not tally.is_unknown(predictions.request[entries]):
            continue
        # Padding stands to the right of everything, where causal attention never looks.
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, at in enumerate(batch):
            ids[row, : len(trie.sequences[at])] = torch.from_numpy(trie.sequences[at])
        row_of = np.repeat(np.arange(len(batch)), [len(of_sequence[at]) for at in batch])
        flat = row_of * longest + predictions.depth[entries]
        places = np.unique(flat)
        wanted = torch.zeros(len(batch) * longest, dtype=torch.bool)
        wanted[torch.from_numpy(places)] = True
        logits = model.plain(ids, wanted.view_as(ids))
        tally.add(
            logits,
            np.searchsorted(places, flat),
            predictions.target[entries],
            predictions.request[entries],
        )
    return tokens


def _batches(
    trie: Trie, of_sequence: list[np.ndarray], budget: Budget, preferred: int
) -> Iterator[list[int]]:
    """Longest first, so that what would not fit shows at once; neighbours are alike in length."""
    lengths = np.array([len(s) for s in trie.sequences])
    batch: list[int] = []
    tokens = wanted = 0
    for at in np.argsort(-lengths, kind="stable"):
        length, more = int(lengths[at]), len(of_sequence[at])
        if batch:
            longest, rows = int(lengths[batch[0]]), len(batch) + 1
            if (
                rows > budget.plain_rows(longest, preferred)
                or wanted + more > budget.logit_rows
                or rows * longest > (1 + _MOST_PADDING) * (tokens + length)
            ):
                yield batch
                batch, tokens, wanted = [], 0, 0
        batch.append(int(at))
        tokens, wanted = tokens + length, wanted + more
    if batch:
        yield batch
