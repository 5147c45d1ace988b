"""Exercises on lists of choices: what a model practises before it can answer an exam by letter.

None of them needs a fact. First a list is there and behind it each of its words has a question; then a
word, or the one word of a sort, is in front of the list, as an exam asks; then in several wordings.
"""

import random

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.datasets.mmlu import SORTS

_WORDS = tuple(
    dict.fromkeys(
        [word for words in SORTS.values() for word in words]
        + [*lexicon.THINGS, *lexicon.GOODS, *lexicon.HOMES, *lexicon.SYMPTOMS.values()]
        + [*lexicon.REMEDIES.values(), *lexicon.ORGANS, *lexicon.POSITIVE, *lexicon.NEGATIVE]
    )
)
_NUMBERS = tuple(str(n) for n in range(1, 31))
_LEADS = ("", "Question: ")


def lettered(choices: list[str]) -> str:
    """The choices as exams print them, one a line."""
    return "".join(f"\n{letter}. {c}" for letter, c in zip("ABCD", choices, strict=False))


def list_first(rng: random.Random) -> list[tuple[str, str]]:
    """A list, and then each of its words with its letter."""
    choices = rng.sample(_WORDS, 4)
    order = rng.sample(range(4), 4)
    lines = [(f"\nLetter of {choices[i]}", f" {'ABCD'[i]}") for i in order]
    return [(lettered(choices)[1:] + lines[0][0], lines[0][1]), *lines[1:]]


def question_first(rng: random.Random) -> list[tuple[str, str]]:
    """A word or a sort, a list with one such word, and its letter; always in the same words."""
    choices, word, sort, letter = _list(rng, _WORDS)
    task = f"Find the {sort}." if sort else f"Find {word}."
    return [(f"{task}{lettered(choices)}\nAnswer:", letter)]


def question_in_other_words(rng: random.Random) -> list[tuple[str, str]]:
    """The same in other words, and of numbers too."""
    choices, word, sort, letter = _list(rng, _WORDS if rng.random() < 0.85 else _NUMBERS)
    task = _by_sort(rng, sort) if sort else _by_the_word(rng, word)
    return [(f"{rng.choice(_LEADS)}{task}{lettered(choices)}\nAnswer:", letter)]


# By their names in the corpus, which the shipped models have read.
EXERCISES = {
    "asked_behind": list_first,
    "asked_in_front": question_first,
    "asked_in_many_ways": question_in_other_words,
}


def _list(rng: random.Random, words: tuple[str, ...]) -> tuple[list[str], str, str | None, str]:
    """Four choices, the one to be found, its sort where the question names that, and its letter.

    Sorts come in from the beginning: a model that knows lists by their very words alone learns them late.
    """
    right = rng.randrange(4)
    letter = f" {'ABCD'[right]}"
    if rng.random() < 0.5:
        choices = rng.sample(words, 4)
        return choices, choices[right], None, letter
    sorts = rng.sample(list(SORTS), 4)
    choices = [rng.choice(SORTS[sort]) for sort in sorts]
    return choices, choices[right], sorts[right] if rng.random() < 0.5 else None, letter


def _by_the_word(rng: random.Random, word: str) -> str:
    person = rng.choice(lexicon.PEOPLE)
    return rng.choice(
        [
            f"Find {word}.",
            f"{person} says {word}. What was said?",
            f"Which choice reads {word}?",
            f"The answer is {word}. What is the answer?",
        ]
    )


def _by_sort(rng: random.Random, sort: str) -> str:
    return rng.choice(
        [f"Find the {sort}.", f"Which choice is a {sort}?", f"One is a {sort}. Which?"]
    )
