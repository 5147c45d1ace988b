"""The rows of a step: the next batches of several trainings, as many in a row as memory allows."""

from collections.abc import Mapping
from dataclasses import dataclass

from workflow_scripts.training.samples import Sample


@dataclass(frozen=True)
class Part:
    """Of one training's batch: the samples from number `first` on."""

    slot: int
    first: int
    samples: list[Sample]

    @property
    def tokens(self) -> int:
        return sum(len(sample.tokens) for sample in self.samples)

    @property
    def counted(self) -> int:
        return counted_in(self.samples)


def counted_in(samples: list[Sample]) -> int:
    """Tokens that count in the loss; a sample's first never does."""
    return sum(int(sample.counted[1:].sum()) for sample in samples)


def rows_of(batches: Mapping[int, list[Sample]], most: int) -> list[list[Part]]:
    """The batches in the order of their slots, in rows of up to so many tokens.

    A batch that fits into a row is never cut, so that its draws do not depend on its neighbours. One that
    does not has rows of its own, and a sample that does not has one.
    """
    rows: list[list[Part]] = []
    room = 0
    for slot in sorted(batches):
        whole = Part(slot, 0, batches[slot])
        if whole.tokens <= room:
            rows[-1].append(whole)
            room -= whole.tokens
        elif whole.tokens <= most:
            rows.append([whole])
            room = most - whole.tokens
        else:
            rows += [[part] for part in _cut(whole, most)]
            room = 0
    return rows


def _cut(whole: Part, most: int) -> list[Part]:
    parts: list[Part] = []
    for at, sample in enumerate(whole.samples):
        if parts and parts[-1].tokens + len(sample.tokens) <= most:
            parts[-1].samples.append(sample)
        else:
            parts.append(Part(whole.slot, at, [sample]))
    return parts
