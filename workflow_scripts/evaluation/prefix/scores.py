"""From logits to log-likelihoods and greedy flags, request by request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.memory import scored_at_once

Score = tuple[float, bool]  # log-likelihood, and whether greedy decoding gives the continuation


def rows_at_once(device) -> int:
    """Rows of logits while their log-probabilities are taken."""
    return scored_at_once(torch.device(device).type)


@dataclass(frozen=True)
class ScoreRequest:
    """What a model reads, and the tokens it should predict at the last of its positions."""

    read: Sequence[int]
    targets: Sequence[int]

    @classmethod
    def of(cls, context: Sequence[int], continuation: Sequence[int], window: int) -> "ScoreRequest":
        """As lm-eval cuts it: the last token is only predicted, and the left end gives way."""
        if not context or not 0 < len(continuation) <= window:
            raise UserError(
                f"A request has {len(context)} tokens of context and {len(continuation)} of"
                f" continuation; expected are at least one of each, and a continuation that fits"
                f" into the model's window of {window}."
            )
        tokens = [*context, *continuation]
        return cls(tokens[-(window + 1) :][:-1], continuation)


def _of_targets(
    logits: torch.Tensor, rows: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The log-probability of each target in its row, rows in ascending order, and whether it is the likeliest."""
    row_of = torch.from_numpy(rows).to(logits.device)
    target_of = torch.from_numpy(targets).to(logits.device)
    some = rows_at_once(logits.device)
    chosen, greedy = [], []
    # In float32 and a few rows at a time: in bf16 sums would be coarse, and copies large.
    for start in range(0, len(logits), some):
        here = slice(*np.searchsorted(rows, [start, start + some]))
        part, row, target = (
            logits[start : start + some].float(),
            row_of[here] - start,
            target_of[here],
        )
        chosen.append(part[row, target] - part.logsumexp(-1)[row])
        greedy.append(part.argmax(-1)[row] == target)
    # Looked at once, when all are on their way: each look waits for the device.
    return torch.cat(chosen).double().cpu().numpy(), torch.cat(greedy).cpu().numpy()


class Tally:
    """Adds up the log-probabilities of each request as its positions come in, in any order."""

    def __init__(
        self,
        requests: Sequence[ScoreRequest],
        on_scored: Callable[[int, Score], None] | None,
        known: Mapping[int, Score],
    ):
        self._known = known
        self._unknown = np.array([at not in known for at in range(len(requests))])
        self._sums = np.zeros(len(requests))
        self._greedy = np.ones(len(requests), dtype=bool)
        self._missing = np.array([len(request.targets) for request in requests])
        self._on_scored = on_scored

    def add(
        self, logits: torch.Tensor, rows: np.ndarray, targets: np.ndarray, requests: np.ndarray
    ) -> None:
        """Row `rows[i]` of the logits predicts `targets[i]` for the request `requests[i]`."""
        by_row = np.argsort(rows, kind="stable")
        rows, targets, requests = rows[by_row], targets[by_row], requests[by_row]
        found, best = _of_targets(logits, rows, targets)
        np.add.at(self._sums, requests, found)
        np.logical_and.at(self._greedy, requests, best)
        np.subtract.at(self._missing, requests, 1)
        if self._on_scored:
            for request in np.unique(requests):
                if self._missing[request] == 0 and self._unknown[request]:
                    self._on_scored(int(request), self.score(int(request)))

    def is_unknown(self, requests: np.ndarray) -> bool:
        """Whether any of these still has to be scored."""
        return bool(self._unknown[requests].any())

    def score(self, request: int) -> Score:
        if request in self._known:
            return self._known[request]
        return float(self._sums[request]), bool(self._greedy[request])
