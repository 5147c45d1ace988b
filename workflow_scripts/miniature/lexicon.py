"""The fixed half of the world, from lexicon.yaml: its ordinary words and what goes together with what.

Everything a model can learn as a regularity stands there: what the groups of creatures share, which
tool serves which purpose, which step follows which, which word means the opposite of which. Invented
names and the facts about them are drawn in `world.py`.
"""

from typing import Any, NamedTuple

from workflow_scripts.miniature.yaml_file import load_yaml


class CreatureGroup(NamedTuple):
    """What all creatures of one group have in common."""

    name: str
    plural: str
    cover: str
    coat: str
    motion: str
    limb: str
    shelter: str
    food: str


# What can be drawn, by name.
POOLS: dict[str, Any] = load_yaml(__file__)
GROUPS = POOLS["group"] = [CreatureGroup(**group) for group in POOLS["group"]]
PEOPLE, PLACES, TIMES, TOOLS, EVENTS = (
    POOLS[name] for name in ("person", "place", "time", "tool", "event")
)
