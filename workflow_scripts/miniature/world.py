"""The drawn half of the world: invented names and the facts about them.

Pure Python, no model, no library: the same world on every machine, and for every seed of the config,
because the models that come with Chorus have learned this one.
"""

import random
from dataclasses import dataclass

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.lexicon import CreatureGroup

SEED = 0
# So many that a small model, or one that has read little, knows few of them.
KINDS_PER_GROUP = 12
TOWNS = 24
AILMENTS_PER_ORGAN = 10
CRAFTS = ("glass", "silk", "honey", "salt", "cheese", "iron", "wool", "clay")


@dataclass(frozen=True)
class Kind:
    """A kind of creature: its group tells most about it, colour and home are its own."""

    name: str
    group: CreatureGroup
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
    kinds: tuple[Kind, ...]
    towns: tuple[Town, ...]
    ailments: tuple[Ailment, ...]

    def rng(self, *purpose: object) -> random.Random:
        """A generator of its own for each purpose, so that one dataset never shifts another."""
        return random.Random(derive_seed(SEED, "miniature", *purpose))


def make_world() -> World:
    rng = random.Random(derive_seed(SEED, "miniature", "world"))
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
    towns = tuple(
        Town(
            name=next(names).capitalize(),
            ruler=rng.choice(lexicon.PEOPLE),
            river=next(names).capitalize(),
            craft=rng.choice(CRAFTS),
        )
        for _ in range(TOWNS)
    )
    ailments = tuple(
        Ailment(next(names) + "itis", organ)
        for organ in lexicon.ORGANS
        for _ in range(AILMENTS_PER_ORGAN)
    )
    return World(kinds, towns, ailments)


def _invented_names(rng: random.Random):
    """Two open syllables and a closing consonant now and then; never the same name twice."""
    seen = set()
    while True:
        name = "".join(rng.choice("bdfgklmnprtvz") + rng.choice("aeiou") for _ in range(2))
        name += rng.choice(["", "", "l", "n", "r", "k"])
        if name not in seen and name[:2] != name[2:4]:
            seen.add(name)
            yield name
