"""The drawn half of the world: invented names and the facts about them.

Pure Python, no model, no library: the same world on every machine, and for every seed of the config,
because the models that come with Chorus have learned this one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.miniature.lexicon import GROUPS, PEOPLE, POOLS, CreatureGroup

SEED = 0
# So many that a small model, or one that has read little, knows few of them.
KINDS_PER_GROUP = 12
NUM_TOWNS = 24
AILMENTS_PER_ORGAN = 10


@dataclass(frozen=True)
class Kind:
    """A kind of creature: its group tells most about it, colour and home are its own."""

    name: str
    group: CreatureGroup
    colour: str
    home: str
    size: str


@dataclass(frozen=True)
class Town:
    name: str
    ruler: str
    river: str
    craft: str


@dataclass(frozen=True)
class Ailment:
    """An illness; the organ it strikes decides symptom and remedy."""

    name: str
    organ: str
    symptom: str
    remedy: str

    @property
    def title(self) -> str:
        return self.name.capitalize()


def get_rng(*purpose: object) -> Random:
    """Return a generator of its own for each purpose, so that one dataset never shifts another."""
    return Random(derive_seed(SEED, "miniature", *purpose))


def draw(rng: Random, names: str) -> list[Any]:
    """Draw from each of the pools in turn, by their names."""
    return [rng.choice(list(POOLS[name])) for name in names.split()]


def _invent_names(rng: Random) -> Iterator[str]:
    """Two open syllables and a closing consonant now and then; never the same name twice."""
    seen = set()
    while True:
        name = "".join(rng.choice("bdfgklmnprtvz") + rng.choice("aeiou") for _ in range(2))
        name += rng.choice(["", "", "l", "n", "r", "k"])
        if name not in seen and name[:2] != name[2:4]:
            seen.add(name)
            yield name


_rng = get_rng("world")
_names = _invent_names(_rng)
KINDS = POOLS["kind"] = [
    Kind(next(_names), group, *draw(_rng, "colour home size"))
    for group in GROUPS
    for _ in range(KINDS_PER_GROUP)
]
TOWNS = POOLS["town"] = [
    Town(
        name=next(_names).capitalize(),
        ruler=_rng.choice(PEOPLE),
        river=next(_names).capitalize(),
        craft=_rng.choice(POOLS["craft"]),
    )
    for _ in range(NUM_TOWNS)
]
POOLS["ailment"] = [
    Ailment(next(_names) + "itis", *effects)
    for effects in zip(POOLS["organ"], POOLS["symptom"], POOLS["remedy"], strict=True)
    for _ in range(AILMENTS_PER_ORGAN)
]
