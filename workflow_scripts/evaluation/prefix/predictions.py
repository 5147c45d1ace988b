"""What the model has to predict: which token it should predict where, for whom."""

from dataclasses import dataclass

import numpy as np

from workflow_scripts.evaluation.prefix.scores import ScoreRequest


@dataclass(frozen=True)
class Predictions:
    """The predictions of all requests on a trie, one an entry."""

    sequence: np.ndarray  # place in the trie
    depth: np.ndarray
    target: np.ndarray
    request: np.ndarray

    @classmethod
    def of(cls, requests: list[ScoreRequest], places: np.ndarray) -> "Predictions":
        lengths = [len(request.targets) for request in requests]
        depths = [
            np.arange(len(request.read) - len(request.targets), len(request.read))
            for request in requests
        ]
        return cls(
            np.repeat(places, lengths),
            np.concatenate(depths),
            np.concatenate([np.asarray(request.targets, dtype=np.int64) for request in requests]),
            np.repeat(np.arange(len(requests)), lengths),
        )

    def of_sequences(self, chosen: list[int]) -> "Predictions":
        """What concerns these sequences, which are numbered again."""
        new = np.full(int(self.sequence.max()) + 1, -1)
        new[chosen] = np.arange(len(chosen))
        mine = new[self.sequence] >= 0
        return Predictions(
            new[self.sequence[mine]], self.depth[mine], self.target[mine], self.request[mine]
        )

    def by_sequence(self, sequences: int) -> list[np.ndarray]:
        """For each sequence the numbers of its entries."""
        order = np.argsort(self.sequence, kind="stable")
        edges = np.searchsorted(self.sequence[order], np.arange(1, sequences))
        return np.split(order, edges)
