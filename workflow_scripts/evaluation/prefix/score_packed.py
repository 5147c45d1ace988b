"""Score the sequences of a trie in packed blocks."""

import numpy as np

from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.packed import PackedRun, with_ancestors
from workflow_scripts.evaluation.prefix.predictions import Predictions
from workflow_scripts.evaluation.prefix.scores import Tally
from workflow_scripts.evaluation.prefix.trie import DepthFirst, Trie


def score_packed(
    model, trie: Trie, predictions: Predictions, tally: Tally, budget: Budget, preferred: int
) -> int:
    """Returns the tokens that scoring everything takes, whatever was known before."""
    order = DepthFirst(trie)
    block = min(budget.block(order.longest, preferred), len(order))
    number = _token_numbers(order, predictions)
    by_number = np.argsort(number, kind="stable")
    number = number[by_number]
    places = np.unique(number)  # tokens whose logits are wanted
    edges = cut(order, block, places, budget.logit_rows)
    # The entries of each block, by the number of their token.
    spans = [slice(*np.searchsorted(number, pair)) for pair in edges]
    entries = [by_number[span] for span in spans]
    unknown = np.array([tally.is_unknown(predictions.request[mine]) for mine in entries])
    chosen = np.flatnonzero(with_ancestors(order, [start for start, _ in edges], unknown))
    run = PackedRun(model, trie, capacity=min(order.longest + block, len(order)))
    for at in chosen:
        start, end = edges[at]
        run.forget_before(start)
        inside = places[slice(*np.searchsorted(places, [start, end]))]
        logits = run.run(start, end, inside)
        mine = entries[at]
        if len(mine):
            rows = np.searchsorted(inside, number[spans[at]])
            tally.add(logits, rows, predictions.target[mine], predictions.request[mine])
    return len(order)


def _token_numbers(order: DepthFirst, predictions: Predictions) -> np.ndarray:
    """From sequence and depth to the number of the token there, shared ones included."""
    number = np.empty(len(predictions.sequence), dtype=np.int64)
    mine = predictions.by_sequence(len(order.trie.sequences))
    for at, path in order.walk():
        number[mine[at]] = path[predictions.depth[mine[at]]]
    return number


def cut(
    order: DepthFirst, block: int, places: np.ndarray, logit_rows: int
) -> list[tuple[int, int]]:
    """Blocks of at most so many tokens and so many wanted rows of logits.

    They end where stretches do if they can, and a long stretch begins a block: then a block depends
    on those that hold its prefix, and not on the one before it, which a resumed job may leave out.
    """
    starts = order.starts
    long = starts[:-1][np.diff(starts) >= block / 2]
    edges, start = [], 0
    while start < len(order):
        end = min(start + block, len(order))
        too_many = np.searchsorted(places, start) + logit_rows
        if too_many < len(places):
            end = min(end, int(places[too_many]))
        last = int(starts[np.searchsorted(starts, end, side="right") - 1])
        if last > start:
            end = last
        following = np.searchsorted(long, start, side="right")
        if following < len(long):
            end = min(end, int(long[following]))
        edges.append((start, end))
        start = end
    return edges
