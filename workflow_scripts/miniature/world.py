"""The world: its ordinary words and what goes together with what, and the invented names and facts about them.

What a model can learn as a regularity stands in world.yaml: what the groups of creatures share, which tool serves
which purpose, which step follows which. Names and facts are drawn here, in pure Python, so that the world is the
same on every machine and for every seed of the config: the models that come with Chorus have learned this one.
"""

from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

from workflow_scripts.core.seeds import derive_seed

SEED = 0
# So many that a small model, or one that has read little, knows few of them.
KINDS_PER_GROUP = 12
NUM_TOWNS = 24
AILMENTS_PER_ORGAN = 10


def load_yaml(module_file: str) -> Any:
    """Load the YAML file of a module's name, beside it."""
    return yaml.safe_load(Path(module_file).with_suffix(".yaml").read_text(encoding="utf-8"))


# What can be drawn, by name.
POOLS: dict[str, Any] = load_yaml(__file__)
CreatureGroup = namedtuple("CreatureGroup", "name plural cover coat motion limb shelter food")
# A kind of creature: its group tells most about it, colour and home are its own.
Kind = namedtuple("Kind", "name group colour home size")
Town = namedtuple("Town", "name ruler river craft")


class Ailment(namedtuple("Ailment", "name organ symptom remedy")):
    """An illness; the organ that it strikes decides symptom and remedy."""

    @property
    def title(self) -> str:
        return self.name.capitalize()


def get_rng(*purpose: object) -> Random:
    """Get a generator of its own for each purpose, so that one dataset never shifts another."""
    return Random(derive_seed(SEED, "miniature", *purpose))


def draw(rng: Random, names: str) -> list[Any]:
    """Draw from each of the pools in turn, by their names."""
    return [rng.choice(list(POOLS[name])) for name in names.split()]


def _invent_names(rng: Random) -> Iterator[str]:
    """Yield names of two open syllables and a closing consonant now and then, none of them twice."""
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
