"""Which prompts start alike for so long that the start is worth keeping once for all of them."""

from dataclasses import dataclass

import numpy as np

from workflow_scripts.evaluation.prefix.trie import Trie

# Shorter starts are cheaper to keep with each answer.
_LEAST_TOKENS = 32


@dataclass(frozen=True)
class Families:
    """For each sequence of a trie its family, and how many tokens it has in common with it."""

    of: np.ndarray  # -1: of none
    common: np.ndarray  # 0 where there is none

    @classmethod
    def none(cls, trie: Trie) -> "Families":
        count = len(trie.sequences)
        return cls(np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64))

    @classmethod
    def find(cls, trie: Trie, requests: np.ndarray, least: int) -> "Families":
        """Neighbours that have at least half of the longest in common, of at least `least` requests.

        `requests` are how many there are of each sequence of the trie.
        """
        found = cls.none(trie)
        lengths = np.array([len(sequence) for sequence in trie.sequences])
        first = 0
        while first < len(lengths):
            last, common, longest = first + 1, lengths[first], lengths[first]
            while last < len(lengths):
                narrowed = min(common, trie.shared[last])
                if 2 * narrowed < max(longest, lengths[last]):
                    break
                last, common, longest = last + 1, narrowed, max(longest, lengths[last])
            if requests[first:last].sum() >= least and common >= _LEAST_TOKENS:
                found.of[first:last] = first
                found.common[first:last] = common
            first = last
        return found
