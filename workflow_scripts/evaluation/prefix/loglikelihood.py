"""Log-likelihoods: packed where sequences share, in plain batches where they do not."""

from dataclasses import dataclass

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.packed import PackedRun
from workflow_scripts.evaluation.prefix.scores import ScoreRequest, Tally
from workflow_scripts.evaluation.prefix.trie import DepthFirst, Trie

# Two sequences that share less than this part of the later one are no family.
_SLIGHT = 0.08
# A family that packing would spare less than this is cheaper in plain batches: a packed token
# attends to the whole row, masked or not.
_WORTH_PACKING = 0.9
_MOST_PADDING = 0.05


@dataclass(frozen=True)
class _Wanted:
    """The predictions of all requests on a trie, one an entry."""

    sequence: np.ndarray  # place in the trie
    depth: np.ndarray
    target: np.ndarray
    request: np.ndarray

    @classmethod
    def of(cls, requests: list[ScoreRequest], places: np.ndarray) -> "_Wanted":
        lengths = [len(request.targets) for request in requests]
        depth = [
            np.arange(len(request.read) - len(request.targets), len(request.read))
            for request in requests
        ]
        return cls(
            np.repeat(places, lengths),
            np.concatenate(depth),
            np.concatenate([np.asarray(request.targets, dtype=np.int64) for request in requests]),
            np.repeat(np.arange(len(requests)), lengths),
        )

    def of_sequences(self, chosen: list[int]) -> "_Wanted":
        """What concerns these sequences, numbered anew."""
        new = np.full(int(self.sequence.max()) + 1, -1)
        new[chosen] = np.arange(len(chosen))
        mine = new[self.sequence] >= 0
        return _Wanted(
            new[self.sequence[mine]], self.depth[mine], self.target[mine], self.request[mine]
        )


def choose_how(trie: Trie, wanted_rows: np.ndarray, budget: Budget) -> tuple[list[int], list[int]]:
    """The sequences to run packed, and those to run in plain batches; both ascend."""
    lengths = np.array([len(s) for s in trie.sequences])
    new_family = trie.shared <= _SLIGHT * lengths
    packed, plain = [], []
    for family in np.split(np.arange(len(lengths)), np.flatnonzero(new_family[1:]) + 1):
        nodes = lengths[family].sum() - trie.shared[family[1:]].sum()
        # More logits than one call may return can be had in parts only with a cache.
        too_many = wanted_rows[family].max() > budget.logit_rows
        worth = nodes <= _WORTH_PACKING * lengths[family].sum()
        (packed if worth or too_many else plain).extend(family.tolist())
    return packed, plain


def score_packed(
    model, trie: Trie, wanted: _Wanted, tally: Tally, budget: Budget, preferred: int
) -> None:
    order = DepthFirst(trie)
    # From (sequence, depth) to the number of the token that is there, shared ones included.
    number = np.empty(len(wanted.sequence), dtype=np.int64)
    by_sequence = np.argsort(wanted.sequence, kind="stable")
    edges = np.searchsorted(wanted.sequence[by_sequence], np.arange(len(trie.sequences) + 1))
    for at, path in order.walk():
        mine = by_sequence[edges[at] : edges[at + 1]]
        number[mine] = path[wanted.depth[mine]]

    by_number = np.argsort(number, kind="stable")
    number = number[by_number]
    places = np.unique(number)  # tokens whose logits are wanted
    block = min(budget.block(order.longest, preferred), len(order))
    run = PackedRun(model, trie, capacity=min(order.longest + block, len(order)))
    start = 0
    while start < len(order):
        end = min(start + block, len(order))
        first = np.searchsorted(places, start)
        if first + budget.logit_rows < len(places):
            end = min(end, int(places[first + budget.logit_rows]))
        inside = places[first : np.searchsorted(places, end)]
        logits, _ = run.run(start, end, inside)
        run.forget_before(end)
        if len(inside):
            mine = slice(*np.searchsorted(number, [start, end]))
            entries = by_number[mine]
            tally.add(
                logits,
                np.searchsorted(inside, number[mine]),
                wanted.target[entries],
                wanted.request[entries],
            )
        start = end


def score_plain(
    model, trie: Trie, wanted: _Wanted, tally: Tally, budget: Budget, preferred: int
) -> None:
    by_sequence = np.argsort(wanted.sequence, kind="stable")
    edges = np.searchsorted(wanted.sequence[by_sequence], np.arange(len(trie.sequences) + 1))
    for batch in _plain_batches(trie, edges, budget, preferred):
        longest = len(trie.sequences[batch[0]])
        # Padding stands to the right of everything, where causal attention never looks.
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        needed = torch.zeros(len(batch), longest, dtype=torch.bool)
        entries = [by_sequence[edges[at] : edges[at + 1]] for at in batch]
        for row, (at, mine) in enumerate(zip(batch, entries, strict=True)):
            ids[row, : len(trie.sequences[at])] = torch.from_numpy(trie.sequences[at])
            needed[row, torch.from_numpy(wanted.depth[mine])] = True
        flat = np.concatenate(
            [row * longest + wanted.depth[mine] for row, mine in enumerate(entries)]
        )
        entry = np.concatenate(entries)
        logits = model.plain(ids, needed)
        rows = np.searchsorted(np.flatnonzero(needed.numpy().ravel()), flat)
        tally.add(logits, rows, wanted.target[entry], wanted.request[entry])


def _plain_batches(trie: Trie, edges: np.ndarray, budget: Budget, preferred: int):
    """Longest first, so that what would not fit shows at once; neighbours are alike in length."""
    lengths = np.array([len(s) for s in trie.sequences])
    batch, tokens, wanted = [], 0, 0
    for at in np.argsort(-lengths, kind="stable"):
        longest = lengths[batch[0]] if batch else lengths[at]
        rows = len(batch) + 1
        wanted_with = wanted + edges[at + 1] - edges[at]
        if batch and (
            rows > budget.plain_rows(int(longest), preferred)
            or wanted_with > budget.logit_rows
            or rows * longest > (1 + _MOST_PADDING) * (tokens + lengths[at])
        ):
            yield batch
            batch, tokens, wanted_with = [], 0, edges[at + 1] - edges[at]
        batch.append(int(at))
        tokens, wanted = tokens + lengths[at], wanted_with
    if batch:
        yield batch


def score(
    model, trie: Trie, places: np.ndarray, requests: list[ScoreRequest], tally: Tally,
    budget: Budget, preferred: int,
) -> None:  # fmt: skip
    """Score all requests; `places` says which sequence of the trie each of them reads."""
    wanted = _Wanted.of(requests, places)
    if model.why_not_packed:
        packed, plain = [], list(range(len(trie.sequences)))
    else:
        rows = np.bincount(wanted.sequence, minlength=len(trie.sequences))
        packed, plain = choose_how(trie, rows, budget)
    for chosen, run in ((packed, score_packed), (plain, score_plain)):
        if chosen:
            run(model, trie.subset(chosen), wanted.of_sequences(chosen), tally, budget, preferred)
