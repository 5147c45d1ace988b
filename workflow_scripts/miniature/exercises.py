"""Write exercises on lists of choices, the curriculum for answering an exam by letter.

None of them needs a fact. First a list is there and behind it each of its words has a question; then a
word, or the one word of a sort, is in front of the list, as an exam asks; then in several wordings.
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
    """Write a list, and then each of its words with its letter."""
    choices = rng.sample(_WORDS, 4)
    turns = [
        (f"\nLetter of {choices[place]}", f" {'ABCD'[place]}") for place in rng.sample(range(4), 4)
    ]
    first, letter = turns[0]
    return [(list_choices(choices)[1:] + first, letter), *turns[1:]]


def put_question_first(rng: Random) -> Turns:
    """Ask for a word or a sort in front of a list with one such word; always in the same wording."""
    choices, place, sort = _draw_list(rng, _WORDS)
    task = f"Find the {sort}." if sort else f"Find {choices[place]}."
    return _make_turn(task, choices, place)


def vary_wording(rng: Random) -> Turns:
    """Ask the same in other wordings, and for numbers too."""
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


# By their names in the corpus, which the shipped models have read.
EXERCISES = {
    "asked_behind": put_list_first,
    "asked_in_front": put_question_first,
    "asked_in_many_ways": vary_wording,
}


def _draw_list(rng: Random, words: list[str]) -> tuple[list[str], int, str | None]:
    """Draw four choices, the place of the one to be found, and its sort where the question names that.

    Sorts are mixed in from the beginning: a model that sees words alone first learns sorts late.
    """
    place = rng.randrange(4)
    if rng.random() < 0.5:
        return rng.sample(words, 4), place, None
    sorts = rng.sample(list(SORTS), 4)
    choices = [rng.choice(SORTS[sort]) for sort in sorts]
    return choices, place, sorts[place] if rng.random() < 0.5 else None
