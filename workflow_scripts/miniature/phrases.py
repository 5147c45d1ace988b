"""Write the sentences that prose and questions share: facts as statements and questions, and scenes.

The inference and paraphrase tasks ask whether two sentences agree about a scene: a person, an action, a thing with a
colour, a place and a time.
"""

from collections import namedtuple
from random import Random

from workflow_scripts.miniature.world import GROUPS, KINDS, PEOPLE, POOLS, Kind, draw


class Relation(namedtuple("Relation", "name statement questions yes_no stem clue")):
    """A property of a kind, such as its colour: templates of statements and questions, and the possible answers."""

    @property
    def answers(self) -> list[str]:
        return POOLS.get(self.name) or [getattr(group, self.name) for group in GROUPS]

    def get_answer(self, kind: Kind) -> str:
        return getattr(kind.group, self.name, None) or getattr(kind, self.name)

    def write_statement(self, kind: Kind, answer: str | None = None) -> str:
        return self.statement.format(k=kind.name, a=answer or self.get_answer(kind))

    def draw_question(self, rng: Random, kind: Kind) -> str:
        return rng.choice(self.questions).format(k=kind.name)


RELATIONS = [Relation(**relation) for relation in POOLS["relation"]]
POOLS["relation"] = [relation for relation in RELATIONS if relation.stem]


def draw_other_relation(rng: Random, relation: Relation) -> Relation:
    return rng.choice([other for other in RELATIONS if other is not relation])


def describe_sighting(rng: Random, kind: Kind) -> str:
    """Write an irrelevant sentence that makes the following question unique."""
    person, time = draw(rng, "person time")
    return f"{person} sees a {kind.name} {time}."


def draw_kinds(rng: Random) -> tuple[Kind, Kind]:
    """Sample two kinds of different groups."""
    first = rng.choice(KINDS)
    return first, rng.choice([kind for kind in KINDS if kind.group != first.group])


def draw_people(rng: Random) -> list[str]:
    return rng.sample(PEOPLE, 2)


def get_pronoun(person: str) -> str:
    return "she" if person in POOLS["women"] else "he"


class Scene(namedtuple("Scene", "person action thing colour place time")):
    """The facts of a scene; its string is a sentence with all of them."""

    @property
    def synonym(self) -> str:
        return POOLS["synonyms"][self.action]

    def __str__(self) -> str:
        return f"{self.person} {self.action} a {self.colour} {self.thing} at the {self.place} {self.time}."


def draw_scene(rng: Random) -> Scene:
    return Scene(*draw(rng, "person action thing colour place time"))


def change_scene(scene: Scene, rng: Random, changes: int) -> Scene:
    """Replace `changes` facts of the scene by other values."""
    for field in rng.sample(["person", "thing", "colour", "place", "time"], changes):
        others = [value for value in POOLS[field] if value != getattr(scene, field)]
        scene = scene._replace(**{field: rng.choice(others)})
    return scene


def paraphrase(s: Scene, rng: Random) -> str:
    """Paraphrase a scene: the same facts in other words and another order."""
    return rng.choice(
        [
            f"{s.time.capitalize()}, {s.person} {s.synonym} a {s.colour} {s.thing} at the {s.place}.",
            f"At the {s.place}, {s.person} {s.synonym} a {s.colour} {s.thing} {s.time}.",
            f"{s.person} {s.synonym} a {s.colour} {s.thing} at the {s.place} {s.time}.",
        ]
    )


def write_entailment(s: Scene, rng: Random) -> str:
    return rng.choice(
        [
            f"{s.person} {s.action} a {s.thing}.",
            f"The {s.thing} was {s.colour}.",
            f"{s.person} was at the {s.place}.",
            f"Someone {s.synonym} a {s.thing}.",
        ]
    )


def write_contradiction(s: Scene, rng: Random) -> str:
    """Write a contradiction: 65% negations, as in the real data, otherwise a fact that does not fit."""
    if rng.random() < 0.65:
        sentences = [
            f"{s.person} did not {POOLS['base_forms'][s.action]} a {s.thing}.",
            f"The {s.thing} was not {s.colour}.",
            f"{s.person} was never at the {s.place}.",
            f"Nobody {s.action} a {s.thing}.",
        ]
    else:
        other = change_scene(s, rng, 5)
        sentences = [
            f"The {s.thing} was {other.colour}.",
            f"{s.person} was at the {other.place} {s.time}.",
        ]
    return rng.choice(sentences)


def write_neutral(s: Scene, rng: Random) -> str:
    """Write a sentence that the scene neither entails nor contradicts."""
    reason, adjective = draw(rng, "reason opposites")
    return rng.choice(
        [
            f"{s.person} {s.action} a {s.thing} {reason}.",
            f"The {s.thing} was {adjective}.",
            f"{s.person} likes the {s.place}.",
            f"{s.person} owns the {s.thing}.",
        ]
    )


# In the order of the labels of the inference tasks.
HYPOTHESES = (write_entailment, write_neutral, write_contradiction)
