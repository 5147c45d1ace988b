"""Sentence patterns shared by prose and questions: facts of the world, as questions and as statements."""

from dataclasses import dataclass
from random import Random

from workflow_scripts.miniature.lexicon import GROUPS, PEOPLE, POOLS
from workflow_scripts.miniature.world import KINDS, Kind, draw


@dataclass(frozen=True)
class Relation:
    """Something one can ask about a kind: how it is asked and told, what could be answered."""

    name: str
    statement: str
    questions: list[str]
    yes_no: str = ""
    stem: str = ""
    clue: str = ""

    @property
    def answers(self) -> list[str]:
        return POOLS.get(self.name) or [getattr(group, self.name) for group in GROUPS]

    def answer(self, kind: Kind) -> str:
        return getattr(kind.group, self.name, None) or getattr(kind, self.name)

    def tell(self, kind: Kind, answer: str | None = None) -> str:
        return self.statement.format(k=kind.name, a=answer or self.answer(kind))

    def ask(self, rng: Random, kind: Kind) -> str:
        return rng.choice(self.questions).format(k=kind.name)


RELATIONS = [Relation(**relation) for relation in POOLS["relation"]]
POOLS["relation"] = [relation for relation in RELATIONS if relation.stem]


def draw_other_relation(rng: Random, relation: Relation) -> Relation:
    return rng.choice([other for other in RELATIONS if other is not relation])


def describe_sighting(rng: Random, kind: Kind) -> str:
    """Tell a harmless opening sentence that makes the question after it one of a kind."""
    person, time = draw(rng, "person time")
    return f"{person} sees a {kind.name} {time}."


def draw_kinds(rng: Random) -> tuple[Kind, Kind]:
    """Draw two kinds of different groups."""
    first = rng.choice(KINDS)
    return first, rng.choice([kind for kind in KINDS if kind.group != first.group])


def draw_people(rng: Random) -> list[str]:
    return rng.sample(PEOPLE, 2)


def get_pronoun(person: str) -> str:
    return "she" if person in POOLS["women"] else "he"
