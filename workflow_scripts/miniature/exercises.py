"""Write exercises on lists of choices: a curriculum for answering multiple-choice questions by letter.

No exercise needs a fact. The first kind asks for each word of a list after the list; the second asks for a word, or
for the only word of a category, before the list, as exams do; the third varies the wording.
"""

from random import Random

from workflow_scripts.miniature.datasets.mmlu import SORTS, list_choices
from workflow_scripts.miniature.world import PEOPLE, POOLS

Turns = list[tuple[str, str]]
_POOLS = ("thing", "goods", "home", "symptom", "remedy", "organ", "positive", "negative")
_LISTS = [*SORTS.values(), *(POOLS[name] for name in _POOLS)]
_WORDS = list(dict.fromkeys(word for words in _LISTS for word in words))
_NUMBERS = [str(number) for number in range(1, 31)]


def put_list_first(rng: Random) -> Turns:
    """Write a list, followed by a question for the letter of each word."""
    choices = rng.sample(_WORDS, 4)
    turns = [
        (f"\nLetter of {choices[place]}", f" {'ABCD'[place]}") for place in rng.sample(range(4), 4)
    ]
    first, letter = turns[0]
    return [(list_choices(choices)[1:] + first, letter), *turns[1:]]


def put_question_first(rng: Random) -> Turns:
    """Write a question for a word or a category, in fixed wording, followed by a list with one match."""
    choices, place, sort = _draw_list(rng, _WORDS)
    task = f"Find the {sort}." if sort else f"Find {choices[place]}."
    return _make_turn(task, choices, place)


def vary_wording(rng: Random) -> Turns:
    """Write the same questions in several wordings, also for numbers."""
    choices, place, sort = _draw_list(rng, _WORDS if rng.random() < 0.85 else _NUMBERS)
    if sort:
        tasks = [f"Find the {sort}.", f"Which choice is a {sort}?", f"One is a {sort}. Which?"]
    else:
        word = choices[place]
        tasks = [
            f"Find {word}.",
            f"{rng.choice(PEOPLE)} says {word}. What was said?",
            f"Which choice reads {word}?",
            f"The answer is {word}. What is the answer?",
        ]
    task = rng.choice(tasks)
    return _make_turn(rng.choice(["", "Question: "]) + task, choices, place)


def _make_turn(task: str, choices: list[str], place: int) -> Turns:
    return [(f"{task}{list_choices(choices)}\nAnswer:", f" {'ABCD'[place]}")]


# The names are those of the corpus on which the shipped models were trained.
EXERCISES = {
    "asked_behind": put_list_first,
    "asked_in_front": put_question_first,
    "asked_in_many_ways": vary_wording,
}


def _draw_list(rng: Random, words: list[str]) -> tuple[list[str], int, str | None]:
    """Sample four choices, the index of the answer, and its category if the question names the category.

    Categories are included from the beginning, because a model that first sees only words learns categories late.
    """
    place = rng.randrange(4)
    if rng.random() < 0.5:
        return rng.sample(words, 4), place, None
    sorts = rng.sample(list(SORTS), 4)
    choices = [rng.choice(SORTS[sort]) for sort in sorts]
    return choices, place, sorts[place] if rng.random() < 0.5 else None
