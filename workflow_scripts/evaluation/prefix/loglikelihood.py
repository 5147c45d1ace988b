"""Log-likelihoods: packed where sequences share, in plain batches where they do not."""

import numpy as np

from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.predictions import Predictions
from workflow_scripts.evaluation.prefix.score_packed import score_packed
from workflow_scripts.evaluation.prefix.score_plain import score_plain
from workflow_scripts.evaluation.prefix.scores import ScoreRequest, Tally
from workflow_scripts.evaluation.prefix.trie import Trie

# Two sequences that share less than this part of the later one are no family.
_SLIGHT = 0.08
# A family that packing would spare less than this is cheaper in plain batches: a packed token
# attends to the whole row, masked or not.
_WORTH_PACKING = 0.9


def score(
    model,
    trie: Trie,
    places: np.ndarray,
    requests: list[ScoreRequest],
    tally: Tally,
    budget: Budget,
    preferred: int,
) -> int:
    """Score all requests; `places` says which sequence of the trie each of them reads.

    Returns the tokens that this takes. What is known already does not change how the rest is run,
    so that a job which resumes where it stopped computes the same bytes as one that never stopped.
    """
    predictions = Predictions.of(requests, places)
    packed: list[int] = []
    if model.why_not_packed:
        plain = list(range(len(trie.sequences)))
    else:
        rows = np.bincount(predictions.sequence, minlength=len(trie.sequences))
        packed, plain = choose_how(trie, rows, budget)
    tokens = 0
    for chosen, run in ((packed, score_packed), (plain, score_plain)):
        if chosen:
            mine = predictions.of_sequences(chosen)
            tokens += run(model, trie.subset(chosen), mine, tally, budget, preferred)
    return tokens


def choose_how(trie: Trie, wanted_rows: np.ndarray, budget: Budget) -> tuple[list[int], list[int]]:
    """The sequences to run packed, and those to run in plain batches; both ascend."""
    lengths = np.array([len(s) for s in trie.sequences])
    new_family = trie.shared <= _SLIGHT * lengths
    packed: list[int] = []
    plain: list[int] = []
    for family in np.split(np.arange(len(lengths)), np.flatnonzero(new_family[1:]) + 1):
        nodes = lengths[family].sum() - trie.shared[family[1:]].sum()
        # More logits than one call may return can be had in parts only with a cache.
        too_many = wanted_rows[family].max() > budget.logit_rows
        worth = nodes <= _WORTH_PACKING * lengths[family].sum()
        (packed if worth or too_many else plain).extend(family.tolist())
    return packed, plain
