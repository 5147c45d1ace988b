"""The fixed half of the world, from lexicon.yaml: its ordinary words and what goes together with what.

Everything a model can learn as a regularity stands there: what the groups of creatures share, which
tool serves which purpose, which step follows which, which word means the opposite of which. Invented
names and the facts about them are drawn per seed in `world.py`.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

_WORDS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


class CreatureGroup(NamedTuple):
    """What all creatures of one group have in common."""

    name: str
    plural: str
    cover: str
    motion: str
    limb: str
    shelter: str
    food: str


def _tuple(name: str) -> tuple[str, ...]:
    return tuple(_WORDS[name])


GROUPS = tuple(CreatureGroup(**group) for group in _WORDS["groups"])
COLOURS, HOMES, SIZES = _tuple("colours"), _tuple("homes"), _tuple("sizes")
PEOPLE, WOMEN = _tuple("people"), _tuple("women")
PLACES, TIMES = _tuple("places"), _tuple("times")
GOODS, THINGS, REVIEWED = _tuple("goods"), _tuple("things"), _tuple("reviewed")
FRAGILE, STURDY, NUMBER_WORDS = _tuple("fragile"), _tuple("sturdy"), _tuple("number_words")
POSITIVE, NEGATIVE = _tuple("positive"), _tuple("negative")
ORGANS = _tuple("organs")
SYMPTOMS: dict[str, str] = _WORDS["symptoms"]
REMEDIES: dict[str, str] = _WORDS["remedies"]
SYNONYMS: dict[str, str] = {deed: synonym for deed, synonym, _ in _WORDS["deeds"]}
BASE_FORMS: dict[str, str] = {deed: base for deed, _, base in _WORDS["deeds"]}
OPPOSITES: dict[str, str] = _WORDS["opposites"]
TOOLS: list[tuple[str, str, str]] = [tuple(tool) for tool in _WORDS["tools"]]
ACTIVITIES: dict[str, list[str]] = _WORDS["activities"]
EVENTS: list[tuple[str, str, str, str]] = [tuple(event) for event in _WORDS["events"]]
SENSES: dict[str, list[list[str]]] = _WORDS["senses"]
