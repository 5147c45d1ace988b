"""Small scenes with a person, a deed, a thing, a place and a time, and sentences about them.

The inference and paraphrase tasks all ask whether two sentences agree about such a scene.
"""

import random
from dataclasses import dataclass, replace

from workflow_scripts.miniature import lexicon

_REASONS = (
    "because a friend asked",
    "to please the neighbours",
    "for the third time",
    "with a smile",
)


@dataclass(frozen=True)
class Scene:
    person: str
    deed: str
    thing: str
    colour: str
    place: str
    time: str


def draw_scene(rng: random.Random) -> Scene:
    return Scene(
        person=rng.choice(lexicon.PEOPLE),
        deed=rng.choice(list(lexicon.SYNONYMS)),
        thing=rng.choice(lexicon.THINGS),
        colour=rng.choice(lexicon.COLOURS),
        place=rng.choice(lexicon.PLACES),
        time=rng.choice(lexicon.TIMES),
    )


def told(s: Scene) -> str:
    return f"{s.person} {s.deed} a {s.colour} {s.thing} at the {s.place} {s.time}."


def retold(s: Scene, rng: random.Random) -> str:
    """The same facts in other words and another order."""
    deed = lexicon.SYNONYMS[s.deed]
    return rng.choice(
        [
            f"{s.time.capitalize()}, {s.person} {deed} a {s.colour} {s.thing} at the {s.place}.",
            f"At the {s.place}, {s.person} {deed} a {s.colour} {s.thing} {s.time}.",
            f"{s.person} {deed} a {s.colour} {s.thing} at the {s.place} {s.time}.",
        ]
    )


def changed(scene: Scene, rng: random.Random, changes: int) -> Scene:
    """The scene with some of its facts exchanged for others."""
    pools = {
        "person": lexicon.PEOPLE,
        "thing": lexicon.THINGS,
        "colour": lexicon.COLOURS,
        "place": lexicon.PLACES,
        "time": lexicon.TIMES,
    }
    for field in rng.sample(list(pools), changes):
        others = [value for value in pools[field] if value != getattr(scene, field)]
        scene = replace(scene, **{field: rng.choice(others)})
    return scene


def entailed(s: Scene, rng: random.Random) -> str:
    return rng.choice(
        [
            f"{s.person} {s.deed} a {s.thing}.",
            f"The {s.thing} was {s.colour}.",
            f"{s.person} was at the {s.place}.",
            f"Someone {lexicon.SYNONYMS[s.deed]} a {s.thing}.",
        ]
    )


def contradicted(s: Scene, rng: random.Random) -> str:
    """Mostly told by a negation, as in the real data; else by a fact that does not fit."""
    if rng.random() < 0.65:
        return rng.choice(
            [
                f"{s.person} did not {lexicon.BASE_FORMS[s.deed]} a {s.thing}.",
                f"The {s.thing} was not {s.colour}.",
                f"{s.person} was never at the {s.place}.",
                f"Nobody {s.deed} a {s.thing}.",
            ]
        )
    other = changed(s, rng, changes=5)
    return rng.choice(
        [f"The {s.thing} was {other.colour}.", f"{s.person} was at the {other.place} {s.time}."]
    )


def undecided(s: Scene, rng: random.Random) -> str:
    return rng.choice(
        [
            f"{s.person} {s.deed} a {s.thing} {rng.choice(_REASONS)}.",
            f"The {s.thing} was {rng.choice(list(lexicon.OPPOSITES))}.",
            f"{s.person} likes the {s.place}.",
            f"{s.person} owns the {s.thing}.",
        ]
    )
