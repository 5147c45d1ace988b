"""The seeded half of the world: invented names and the facts about them.

Pure Python, no model, no library: the same seed gives the same world on every machine.
"""

import random
from dataclasses import dataclass

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.lexicon import Group

KINDS_PER_GROUP = 3
TOWNS = 6
AILMENTS_PER_ORGAN = 2
CRAFTS = ("glass", "silk", "honey", "salt", "cheese", "iron", "wool", "clay")


@dataclass(frozen=True)
class Kind:
    """A kind of creature: its group tells most about it, colour and home are its own."""

    name: str
    group: Group
    colour: str
    home: str
    size: str

    @property
    def plural(self) -> str:
        return self.name + "s"


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

    @property
    def symptom(self) -> str:
        return lexicon.SYMPTOMS[self.organ]

    @property
    def remedy(self) -> str:
        return lexicon.REMEDIES[self.organ]


@dataclass(frozen=True)
class World:
    seed: int
    kinds: tuple[Kind, ...]
    towns: tuple[Town, ...]
    ailments: tuple[Ailment, ...]

    def rng(self, *purpose: object) -> random.Random:
        """A generator of its own for each purpose, so that one dataset never shifts another."""
        return random.Random(derive_seed(self.seed, "miniature", *purpose))


def make_world(seed: int) -> World:
    rng = random.Random(derive_seed(seed, "miniature", "world"))
    names = _invented_names(rng)
    kinds = tuple(
        Kind(
            name=next(names),
            group=group,
            colour=rng.choice(lexicon.COLOURS),
            home=rng.choice(lexicon.HOMES),
            size=rng.choice(lexicon.SIZES),
        )
        for group in lexicon.GROUPS
        for _ in range(KINDS_PER_GROUP)
    )
    rulers = rng.sample(lexicon.PEOPLE, TOWNS)
    crafts = rng.sample(CRAFTS, TOWNS)
    towns = tuple(
        Town(next(names).capitalize(), ruler, next(names).capitalize(), craft)
        for ruler, craft in zip(rulers, crafts, strict=True)
    )
    ailments = tuple(
        Ailment(next(names) + "itis", organ)
        for organ in lexicon.ORGANS
        for _ in range(AILMENTS_PER_ORGAN)
    )
    return World(seed, kinds, towns, ailments)


def _invented_names(rng: random.Random):
    """Two open syllables and a closing consonant now and then; never the same name twice."""
    seen = set()
    while True:
        name = "".join(rng.choice("bdfgklmnprtvz") + rng.choice("aeiou") for _ in range(2))
        name += rng.choice(["", "", "l", "n", "r", "k"])
        if name not in seen and name[:2] != name[2:4]:
            seen.add(name)
            yield name
