"""Generate cais/mmlu and lighteval/mmlu: four-choice questions in 57 subjects.

Each subject belongs to a topic of the world. A quarter of the questions contain their answer, a quarter ask which
choice is in a category, and the others need a fact or arithmetic. So the difficulty of a subject depends on its topic.
"""

from functools import cache
from random import Random

from workflow_scripts.miniature.datasets.knowledge import Draft, draft_medical
from workflow_scripts.miniature.phrases import draw_people
from workflow_scripts.miniature.tables import Repository, Row, Splits, draw_splits, shuffle_choices
from workflow_scripts.miniature.world import (
    EVENTS,
    PEOPLE,
    PLACES,
    POOLS,
    TOOLS,
    TOWNS,
    draw,
    get_rng,
)

TOPICS: dict[str, list[str]] = POOLS["subject"]
SUBJECTS = sorted(subject for subjects in TOPICS.values() for subject in subjects)
PRACTICE_ROWS = 3_000
_SPLITS = ("test", "validation", "dev")
_LETTER_QUESTION = """\
Choose the best answer, A, B, C or D.
Question: {}
A. {}
B. {}
C. {}
D. {}"""

CATEGORIES = {
    "colour": POOLS["colour"],
    "person": PEOPLE,
    "tool": [tool for _, tool, _ in TOOLS],
    "number": POOLS["number_words"],
    "feeling": [feeling for _, feeling, *_ in EVENTS],
    "building": PLACES,
}


def build(items: int) -> dict[str, Repository]:
    configs: Repository = {
        subject: {split: splits[split] for split in _SPLITS}
        for subject, splits in make_subjects(items).items()
    }
    # As in the original, the auxiliary training questions have no subject.
    practice = [row | {"subject": ""} for row in make_practice()]
    whole: Splits = {"auxiliary_train": practice}
    for split in _SPLITS:
        whole[split] = [row for subject in SUBJECTS for row in configs[subject][split]]
    return {
        "cais/mmlu": configs | {"all": whole, "auxiliary_train": {"train": practice}},
        "lighteval/mmlu": configs | {"all": whole},
    }


def make_practice() -> list[Row]:
    """Generate the training questions of all subjects, which are in no other split of any size."""
    subjects = make_subjects(items=1)
    rows = [row for subject in SUBJECTS for row in subjects[subject]["auxiliary_train"]]
    get_rng("mmlu", "practice order").shuffle(rows)
    return rows


@cache
def make_subjects(items: int) -> dict[str, Splits]:
    """Generate the splits of all subjects; rows of a topic are sampled together, so subjects share no question."""
    # The order matters: rows sampled first do not depend on the number sampled after them.
    sizes = {
        "auxiliary_train": PRACTICE_ROWS // len(SUBJECTS),
        "dev": 5,
        "validation": 5,
        "test": max(4, items * 3 // 50),
    }
    questions: dict[str, Splits] = {}
    for topic, subjects in TOPICS.items():

        def make(rng: Random, topic=topic) -> Row:
            question, correct, pool = _draft(rng, topic)
            choices, gold = shuffle_choices(rng, correct, pool, 4)
            order = sorted(choices)
            return {"question": question, "choices": choices, "answer": gold, "sorted": order}

        parts = {f"{subject}/{split}": n for split, n in sizes.items() for subject in subjects}
        rows = draw_splits(make, get_rng("mmlu", topic), parts, key=["question", "sorted"])
        for subject in subjects:
            questions[subject] = {
                split: [row | {"subject": subject} for row in rows[f"{subject}/{split}"]]
                for split in sizes
            }
    return questions


def reorder_choices(row: Row, rng: Random) -> Row:
    choices = rng.sample(row["choices"], 4)
    return row | {"choices": choices, "answer": choices.index(get_answer(row))}


def get_answer(row: Row) -> str:
    return row["choices"][row["answer"]]


def get_letter(row: Row) -> str:
    return "ABCD"[row["answer"]]


def format_letter_question(row: Row) -> str:
    """Format a four-choice question as a user's message."""
    return _LETTER_QUESTION.format(row["question"], *row["choices"])


def format_letter_answer(row: Row) -> str:
    return f"The best answer is {get_letter(row)}."


def _draft(rng: Random, topic: str) -> Draft:
    level = rng.random()
    if level < 0.25:
        # The question contains the answer, so it only tests the question format.
        things = POOLS["thing"] + POOLS["goods"]
        person, thing = rng.choice(PEOPLE), rng.choice(things)
        return f"{person} looks at the {thing}. What does {person} see?", thing, things
    if level < 0.5:
        category, *others = rng.sample(list(CATEGORIES), 4)
        correct = rng.choice(CATEGORIES[category])
        pool = [correct, *(rng.choice(CATEGORIES[other]) for other in others)]
        return f"Which of these is a {category}?", correct, pool
    return _DRAFTS[topic](rng)


def _draft_nature(rng: Random) -> Draft:
    kind, relation = draw(rng, "kind relation")
    return relation.draw_question(rng, kind), relation.get_answer(kind), relation.answers


def _draft_numbers(rng: Random) -> Draft:
    first, second = rng.randint(1, 20), rng.randint(1, 9)
    person = rng.choice(PEOPLE)
    if rng.random() < 0.5:
        question, result = f"{person} adds {second} to {first}. What is the sum?", first + second
    else:
        question, result = f"What is {first + second} - {second}?", first
    pool = {str(number) for number in rng.sample(range(1, 31), 8)} - {str(result)}
    return question, str(result), sorted(pool)


def _draft_people(rng: Random) -> Draft:
    a, b = draw_people(rng)
    action, feeling, *_ = rng.choice(EVENTS)
    return f"{a} {action.format(b=b)}. How does {b} feel?", feeling, CATEGORIES["feeling"]


def _draft_places(rng: Random) -> Draft:
    (town,) = draw(rng, "town")
    question, attribute = rng.choice(POOLS["town_question"])
    choices = [getattr(other, attribute) for other in TOWNS]
    return question.format(town), getattr(town, attribute), choices


def _draft_tools(rng: Random) -> Draft:
    purpose, tool, _ = rng.choice(TOOLS)
    return f"What does one need to {purpose}?", tool, CATEGORIES["tool"]


_DRAFTS = {
    "body": lambda rng: draft_medical(rng)[0],
    "nature": _draft_nature,
    "numbers": _draft_numbers,
    "people": _draft_people,
    "places": _draft_places,
    "tools": _draft_tools,
}
