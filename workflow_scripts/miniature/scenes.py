"""Small scenes with a person, a deed, a thing, a place and a time, and sentences about them.

The inference and paraphrase tasks all ask whether two sentences agree about such a scene.
"""

from dataclasses import dataclass, replace
from random import Random

from workflow_scripts.miniature.lexicon import POOLS
from workflow_scripts.miniature.world import draw


@dataclass(frozen=True)
class Scene:
    person: str
    deed: str
    thing: str
    colour: str
    place: str
    time: str

    @property
    def synonym(self) -> str:
        return POOLS["synonyms"][self.deed]

    def __str__(self) -> str:
        return f"{self.person} {self.deed} a {self.colour} {self.thing} at the {self.place} {self.time}."


def draw_scene(rng: Random) -> Scene:
    return Scene(*draw(rng, "person deed thing colour place time"))


def retell(s: Scene, rng: Random) -> str:
    """Tell the same facts in other words and another order."""
    return rng.choice(
        [
            f"{s.time.capitalize()}, {s.person} {s.synonym} a {s.colour} {s.thing} at the {s.place}.",
            f"At the {s.place}, {s.person} {s.synonym} a {s.colour} {s.thing} {s.time}.",
            f"{s.person} {s.synonym} a {s.colour} {s.thing} at the {s.place} {s.time}.",
        ]
    )


def change_scene(scene: Scene, rng: Random, changes: int) -> Scene:
    """Exchange some facts of the scene for others."""
    for field in rng.sample(["person", "thing", "colour", "place", "time"], changes):
        others = [value for value in POOLS[field] if value != getattr(scene, field)]
        scene = replace(scene, **{field: rng.choice(others)})
    return scene


def entail(s: Scene, rng: Random) -> str:
    return rng.choice(
        [
            f"{s.person} {s.deed} a {s.thing}.",
            f"The {s.thing} was {s.colour}.",
            f"{s.person} was at the {s.place}.",
            f"Someone {s.synonym} a {s.thing}.",
        ]
    )


def contradict(s: Scene, rng: Random) -> str:
    """Contradict it mostly by a negation, as in the real data; else by a fact that does not fit."""
    if rng.random() < 0.65:
        return rng.choice(
            [
                f"{s.person} did not {POOLS['base_forms'][s.deed]} a {s.thing}.",
                f"The {s.thing} was not {s.colour}.",
                f"{s.person} was never at the {s.place}.",
                f"Nobody {s.deed} a {s.thing}.",
            ]
        )
    other = change_scene(s, rng, 5)
    return rng.choice(
        [f"The {s.thing} was {other.colour}.", f"{s.person} was at the {other.place} {s.time}."]
    )


def leave_open(s: Scene, rng: Random) -> str:
    """Say what the scene neither entails nor contradicts."""
    reason, adjective = draw(rng, "reason opposites")
    return rng.choice(
        [
            f"{s.person} {s.deed} a {s.thing} {reason}.",
            f"The {s.thing} was {adjective}.",
            f"{s.person} likes the {s.place}.",
            f"{s.person} owns the {s.thing}.",
        ]
    )


# By the label of the inference tasks.
HYPOTHESES = (entail, leave_open, contradict)
