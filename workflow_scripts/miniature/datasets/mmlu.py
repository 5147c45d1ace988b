"""cais/mmlu and lighteval/mmlu: four-choice questions in 57 subjects.

Each subject belongs to a topic of the world. A quarter of the questions give their answer away, a
quarter only ask which choice is of a certain sort; the others need a fact or a small sum, so
subjects differ in difficulty as topics do.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import yaml
from datasets import ClassLabel, List

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.datasets.science import medical_question
from workflow_scripts.miniature.items import (
    STRING,
    Repository,
    Row,
    columns,
    draw_splits,
    shuffled_choices,
)
from workflow_scripts.miniature.phrases import GROUP_RELATIONS, question_about, two_people
from workflow_scripts.miniature.world import World

SUBJECTS_BY_TOPIC: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)
SUBJECTS = tuple(sorted(s for subjects in SUBJECTS_BY_TOPIC.values() for s in subjects))

DEV_ROWS = VALIDATION_ROWS = 5
PRACTICE_ROWS = 3_000

SORTS = {
    "colour": lexicon.COLOURS,
    "person": lexicon.PEOPLE,
    "tool": tuple(tool for _, tool, _ in lexicon.TOOLS),
    "number": lexicon.NUMBER_WORDS,
    "feeling": tuple(event[1] for event in lexicon.EVENTS),
    "building": lexicon.PLACES,
}

FEATURES = columns(
    "question subject", choices=List(STRING), answer=ClassLabel(names=["A", "B", "C", "D"])
)


def build(world: World, items: int) -> list[Repository]:
    per_subject = rows_by_subject(world, items)
    configs = {
        subject: (FEATURES, {s: splits[s] for s in ("test", "validation", "dev")})
        for subject, splits in per_subject.items()
    }
    everything = {
        split: [row for subject in SUBJECTS for row in per_subject[subject][split]]
        for split in ("test", "validation", "dev")
    }
    # As in the original, the auxiliary training questions do not say which subject they are of.
    practice = [{**row, "subject": ""} for row in practice_rows(world)]
    whole = {
        "all": (FEATURES, {"auxiliary_train": practice, **everything}),
        "auxiliary_train": (FEATURES, {"train": practice}),
    }
    return [
        Repository("cais/mmlu", {**configs, **whole}),
        Repository("lighteval/mmlu", {**configs, "all": whole["all"]}),
    ]


def practice_rows(world: World) -> list[Row]:
    """Training questions of all subjects, none of which is in any other split, however large that is."""
    per_subject = rows_by_subject(world, items=1)
    rows = [row for subject in SUBJECTS for row in per_subject[subject]["auxiliary_train"]]
    world.rng("mmlu", "practice order").shuffle(rows)
    return rows


def reordered(row: Row, rng: random.Random) -> Row:
    """The same question with its choices in another order."""
    choices = rng.sample(row["choices"], len(row["choices"]))
    return {**row, "choices": choices, "answer": choices.index(row["choices"][row["answer"]])}


@cache
def rows_by_subject(world: World, items: int) -> dict[str, dict[str, list[Row]]]:
    """All rows of a topic are drawn together, so that no two of its subjects share a question."""
    # In this order, for what is drawn first does not depend on how much is drawn behind it.
    sizes = {
        "auxiliary_train": PRACTICE_ROWS // len(SUBJECTS),
        "dev": DEV_ROWS,
        "validation": VALIDATION_ROWS,
        "test": max(4, items * 3 // 50),
    }
    found = {}
    for topic, subjects in SUBJECTS_BY_TOPIC.items():

        def make(rng: random.Random, topic=topic) -> Row:
            return _question(world, rng, topic)

        splits = draw_splits(
            make,
            world.rng("mmlu", topic),
            {f"{subject}/{split}": n for split, n in sizes.items() for subject in subjects},
            key=lambda row: (row["question"], *sorted(row["choices"])),
        )
        for subject in subjects:
            found[subject] = {
                split: [{**row, "subject": subject} for row in splits[f"{subject}/{split}"]]
                for split in sizes
            }
    return found


def _question(world: World, rng: random.Random, topic: str) -> Row:
    level = rng.random()
    if level < 0.25:
        question, right, pool = _told(rng)
    elif level < 0.5:
        question, right, pool = _of_a_sort(rng)
    else:
        question, right, pool = _TOPICS[topic](world, rng)
    choices, gold = shuffled_choices(rng, right, pool, 4)
    return {"question": question, "choices": choices, "answer": gold}


Draft = tuple[str, str, Sequence[str]]


def _told(rng: random.Random) -> Draft:
    """The question gives the answer away; what is left to know is how such questions work."""
    person, thing = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.THINGS + lexicon.GOODS)
    question = f"{person} looks at the {thing}. What does {person} see?"
    return question, thing, lexicon.THINGS + lexicon.GOODS


def _of_a_sort(rng: random.Random) -> Draft:
    sort, *others = rng.sample(list(SORTS), 4)
    right = rng.choice(SORTS[sort])
    return (f"Which of these is a {sort}?", right, [right, *(rng.choice(SORTS[o]) for o in others)])


def _body(world: World, rng: random.Random) -> Draft:
    question, answer, pool, _ = medical_question(world, rng)
    return question, answer, pool


def _nature(world: World, rng: random.Random) -> Draft:
    kind, relation = rng.choice(world.kinds), rng.choice(GROUP_RELATIONS)
    return question_about(relation, kind, rng), relation.answer(kind), relation.answers


def _numbers(world: World, rng: random.Random) -> Draft:
    first, second = rng.randint(1, 20), rng.randint(1, 9)
    person = rng.choice(lexicon.PEOPLE)
    if rng.random() < 0.5:
        question, result = f"{person} adds {second} to {first}. What is the sum?", first + second
    else:
        question, result = f"What is {first + second} - {second}?", first
    pool = {str(n) for n in rng.sample(range(1, 31), 8)} - {str(result)}
    return question, str(result), sorted(pool)


def _people(world: World, rng: random.Random) -> Draft:
    a, b = two_people(rng)
    event = rng.choice(lexicon.EVENTS)
    return (
        f"{a} {event[0].format(b=b)}. How does {b} feel?",
        event[1],
        [e[1] for e in lexicon.EVENTS],
    )


def _places(world: World, rng: random.Random) -> Draft:
    town = rng.choice(world.towns)
    question, attribute = rng.choice(
        [
            ("Who rules the town of {}?", "ruler"),
            ("Which river flows through {}?", "river"),
            ("What is made in {}?", "craft"),
        ]
    )
    pool = [getattr(other, attribute) for other in world.towns]
    return question.format(town.name), getattr(town, attribute), pool


def _tools(world: World, rng: random.Random) -> Draft:
    purpose, tool, _ = rng.choice(lexicon.TOOLS)
    return f"What does one need to {purpose}?", tool, [t for _, t, _ in lexicon.TOOLS]


_TOPICS: dict[str, Callable[[World, random.Random], Draft]] = {
    "body": _body,
    "nature": _nature,
    "numbers": _numbers,
    "people": _people,
    "places": _places,
    "tools": _tools,
}
