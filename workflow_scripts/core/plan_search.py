"""Predict what a chunk plan costs from plans that are measured, and find those that should cost least.

Losses are nats a token above those of the unchanged model.

- Layers left out cost the sum of what leaving out each of them alone costs.
- Layers side by side do not see one another. What a stretch of layers costs with all of them side by
  side is measured, for every start and length, and shared out among its pairs of layers by what each
  pair costs. A plan pays the share of the pairs that stand in different chunks.

What a pair costs is read off the same measurements: the stretch from a to b holds one pair that is
neither in the stretch without a nor in that without b, so it costs
W(a, b) - W(a + 1, b) - W(a, b - 1) + W(a + 1, b - 1). Where little is lost, a plan costs the sum of its pairs;
where much is, that sum is far off, and its share of the whole is not (docs/chunking.md has figures).

Layers are counted from 0.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Literal

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.plan import DEFAULT_MODE, ChunkPlan, Mode, chunk_plan

Kind = Literal["chunks", "pruned"]
KINDS: tuple[Kind, ...] = ("chunks", "pruned")
# Of a pair of layers, in nats a token: what chance alone would make of none.
_LEAST_COST = 0.01
_MODES: tuple[Mode, ...] = (DEFAULT_MODE, "sequential_with_shared_start_and_end")


@dataclass(frozen=True)
class Candidate:
    """A plan that a config can ask for; `name` is the one that a checkpoint of it has."""

    name: str
    plan: ChunkPlan = field(compare=False)
    pruned: tuple[int, ...] = field(default=(), compare=False)

    @property
    def kind(self) -> Kind:
        return "pruned" if self.pruned else "chunks"

    @property
    def depth(self) -> int:
        chunks = self.plan.chunks
        return len(self.plan.start) + len(self.plan.end) + (len(chunks[0]) if chunks else 0)


def left_out(layers: int, dropped: Iterable[int]) -> Candidate:
    numbers = tuple(sorted(dropped))
    from_one = [number + 1 for number in numbers]
    plan = chunk_plan(layers, "prune", None, layers_to_prune=from_one)
    return Candidate("-".join(["prune" + str(from_one[0]), *map(str, from_one[1:])]), plan, numbers)


def side_by_side(
    layers: int, chunks: int, size: int, before: int, mode: Mode = DEFAULT_MODE
) -> Candidate:
    plan = chunk_plan(layers, mode, size, chunks, layers_before_chunks=before)
    marks = CheckpointId(
        "",
        f"k{chunks}m{size}",
        None if mode == DEFAULT_MODE else mode,
        after=None if len(plan.start) == len(plan.end) else f"after{before}",
    )
    return Candidate(marks.variant.removeprefix("@"), plan)


def sensitivities(layers: int) -> list[Candidate]:
    """What is measured to predict the rest: each layer left out, and each window of layers side by side."""
    alone = [left_out(layers, [layer]) for layer in range(layers)] if layers > 1 else []
    return alone + [
        side_by_side(layers, length, 1, start)
        for length in range(2, layers + 1)
        for start in range(layers - length + 1)
    ]


class Prediction:
    """Of a model of so many layers, from the losses of its sensitivities by their names."""

    def __init__(self, layers: int, losses: Mapping[str, float]):
        self.layers = layers
        self.losses = losses

    def of(self, candidate: Candidate) -> float:
        if candidate.pruned:
            return sum(self._alone[layer] for layer in candidate.pruned)
        chunks = candidate.plan.chunks
        stretch = range(
            min(min(chunk) for chunk in chunks), max(max(chunk) for chunk in chunks) + 1
        )
        chunk_of = {layer: at for at, chunk in enumerate(chunks) for layer in chunk}
        pairs = list(combinations(stretch, 2))
        apart = sum(self._pairs[pair] for pair in pairs if chunk_of[pair[0]] != chunk_of[pair[1]])
        whole = self._stretches[stretch.start, stretch.stop]
        return whole * apart / sum(self._pairs[pair] for pair in pairs)

    @cached_property
    def _alone(self) -> list[float]:
        return [self.losses[left_out(self.layers, [n]).name] for n in range(self.layers)]

    @cached_property
    def _stretches(self) -> dict[tuple[int, int], float]:
        """What layers cost all side by side, by the first of them and the one behind the last."""
        return {
            (start, start + length): self.losses[side_by_side(self.layers, length, 1, start).name]
            for length in range(2, self.layers + 1)
            for start in range(self.layers - length + 1)
        }

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], float]:
        """For each two layers, what it costs that the later does not see the earlier."""

        def cost(start: int, stop: int) -> float:
            return self._stretches.get((start, stop), 0.0)  # of one layer there is nothing to lose

        return {
            (start, stop - 1): max(
                cost(start, stop)
                - cost(start + 1, stop)
                - cost(start, stop - 1)
                + cost(start + 1, stop - 1),
                _LEAST_COST,
            )
            for start, stop in self._stretches
        }

    def best(self, kind: Kind, depth: int, number: int) -> list[Candidate]:
        """The plans of this depth with the least predicted loss, the least first."""
        if kind == "pruned":
            return self._best_pruned(depth)[:number]
        found = sorted(with_chunks(self.layers, depth), key=lambda one: (self.of(one), one.name))
        return found[:number]

    def _best_pruned(self, depth: int) -> list[Candidate]:
        """The cheapest layers, and the same with one of them exchanged for one that is not."""
        order = sorted(range(self.layers), key=lambda layer: (self._alone[layer], layer))
        chosen, others = order[: self.layers - depth], order[self.layers - depth :]
        sets = [chosen]
        sets += [[new if n == old else n for n in chosen] for old in chosen for new in others]
        found = [left_out(self.layers, one) for one in sets]
        return sorted(found, key=lambda one: (self.of(one), one.name))


def with_chunks(layers: int, depth: int) -> list[Candidate]:
    """Every place and arrangement of chunks that leaves this depth."""
    saved = layers - depth
    return [
        side_by_side(layers, saved // size + 1, size, before, mode)
        for size in range(1, saved + 1)
        if saved % size == 0 and saved + size <= layers
        for mode in (_MODES if size > 1 else _MODES[:1])
        for before in range(layers - saved - size + 1)
    ]


def evenly_spaced(kind: Kind, layers: int, depth: int) -> Candidate:
    """The plan of this depth that one would take without looking: two chunks in the middle, more where two
    cannot save as much; or layers left out at even distances."""
    saved = layers - depth
    if kind == "pruned":
        return left_out(layers, [(2 * at + 1) * layers // (2 * saved) for at in range(saved)])
    size = next(m for m in range(saved, 0, -1) if saved % m == 0 and saved + m <= layers)
    return side_by_side(layers, saved // size + 1, size, (layers - saved - size) // 2)


def random_plans(kind: Kind, layers: int, least: int, number: int, seed: int) -> list[Candidate]:
    """Plans of a depth from `least` on that nobody chose."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        depth = draw.randint(least, layers - 1)
        dropped = sorted(draw.sample(range(layers), layers - depth))
        among = with_chunks(layers, depth) if kind == "chunks" else [left_out(layers, dropped)]
        found.append(draw.choice(among))
    return found


def front(prediction: Prediction, kind: Kind, least: int) -> list[Candidate]:
    """The best predicted plan of each depth from `least` on."""
    depths = range(prediction.layers - 1, least - 1, -1)
    return [one for depth in depths for one in prediction.best(kind, depth, 1)]
