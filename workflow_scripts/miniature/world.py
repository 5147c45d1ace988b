"""Define the demo's world: words and regularities from world.yaml, and randomly generated names and facts.

world.yaml has the regularities that a model can learn: the properties of groups of creatures, the purpose of each
tool, the order of steps. Names and facts are sampled here in pure Python with a fixed seed, so the world is equal on
all machines and for all seeds of the config; the shipped models were trained on it.
"""

from collections import namedtuple
from collections.abc import Iterator
from random import Random
from typing import Any

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.miniature.catalogue import load_yaml

SEED = 0
# Large enough that a small model, or one with little training, knows few of them.
KINDS_PER_GROUP = 12
NUM_TOWNS = 24
AILMENTS_PER_ORGAN = 10


# The lists to sample from, by name.
POOLS: dict[str, Any] = load_yaml("world")
CreatureGroup = namedtuple("CreatureGroup", "name plural cover coat motion limb shelter food")
# A kind of creature: colour, home and size are sampled, all other properties are its group's.
Kind = namedtuple("Kind", "name group colour home size")
Town = namedtuple("Town", "name ruler river craft")


class Ailment(namedtuple("Ailment", "name organ symptom remedy")):
    """An illness; the affected organ determines symptom and remedy."""

    @property
    def title(self) -> str:
        return self.name.capitalize()


def get_rng(*purpose: object) -> Random:
    """Return a random generator for one purpose, so that a change of one dataset does not affect another."""
    return Random(derive_seed(SEED, "miniature", *purpose))


def draw(rng: Random, names: str) -> list[Any]:
    """Sample one value from each of the pools in `names`, which are separated by spaces."""
    return [rng.choice(list(POOLS[name])) for name in names.split()]


def _invent_names(rng: Random) -> Iterator[str]:
    """Yield unique names of two open syllables and sometimes a final consonant."""
    used = set()
    while True:
        name = "".join(rng.choice("bdfgklmnprtvz") + rng.choice("aeiou") for _ in range(2))
        name += rng.choice(["", "", "l", "n", "r", "k"])
        if name not in used and name[:2] != name[2:4]:
            used.add(name)
            yield name


_rng = get_rng("world")
_names = _invent_names(_rng)
PEOPLE, PLACES, TOOLS, EVENTS = (POOLS[name] for name in ("person", "place", "tool", "event"))
GROUPS = POOLS["group"] = [CreatureGroup(**group) for group in POOLS["group"]]
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
