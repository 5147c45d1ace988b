"""Sentence patterns shared by prose and questions: facts of the world, as questions and as statements."""

import random
from dataclasses import dataclass

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.world import Kind, World


@dataclass(frozen=True)
class Relation:
    """Something one can ask about a kind: its questions, how it is told, what could be answered."""

    name: str
    questions: tuple[str, ...]
    statement: str
    answers: tuple[str, ...]

    def answer(self, kind: Kind) -> str:
        return getattr(kind.group, self.name, None) or getattr(kind, self.name)


_OF_KINDS = {"colour": lexicon.COLOURS, "home": lexicon.HOMES}


def _relation(name: str, statement: str, *questions: str) -> Relation:
    of_groups = tuple(getattr(group, name, "") for group in lexicon.GROUPS)
    return Relation(name, questions, statement, _OF_KINDS.get(name, of_groups))


RELATIONS = (
    _relation("cover", "The {k} is covered with {a}.",
        "What covers the body of a {k}?", "What is the {k} covered with?"),
    _relation("motion", "The {k} can {a}.",
        "How does a {k} get around?", "What can a {k} do well?"),
    _relation("limb", "The {k} has strong {a}.",
        "Which part does a {k} use most?", "What does a {k} have on its sides?"),
    _relation("shelter", "The {k} sleeps in a {a}.",
        "Where does a {k} rest?", "Which place does a {k} sleep in?"),
    _relation("food", "The {k} feeds on {a}.",
        "What does a {k} need to eat?", "Which food does a {k} like?"),
    _relation("colour", "The {k} is {a}.",
        "What colour is a {k}?", "Which colour does a {k} have?"),
    _relation("home", "The {k} lives near the {a}.",
        "Where does a {k} live?", "In which land is a {k} at home?"),
)  # fmt: skip
GROUP_RELATIONS = RELATIONS[:5]


def told(relation: Relation, kind: Kind, answer: str | None = None) -> str:
    return relation.statement.format(k=kind.name, a=answer or relation.answer(kind))


def question_about(relation: Relation, kind: Kind, rng: random.Random) -> str:
    return rng.choice(relation.questions).format(k=kind.name)


def sighting(kind: Kind, rng: random.Random) -> str:
    """A harmless opening sentence that makes the question after it one of a kind."""
    return f"{rng.choice(lexicon.PEOPLE)} sees a {kind.name} {rng.choice(lexicon.TIMES)}."


def kind_pair(world: World, rng: random.Random) -> tuple[Kind, Kind]:
    """Two kinds of different groups."""
    first = rng.choice(world.kinds)
    return first, rng.choice([kind for kind in world.kinds if kind.group != first.group])


def two_people(rng: random.Random) -> tuple[str, str]:
    first, second = rng.sample(lexicon.PEOPLE, 2)
    return first, second


def pronoun(person: str) -> str:
    return "she" if person in lexicon.WOMEN else "he"
