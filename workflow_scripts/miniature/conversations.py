"""What the instruct models practise: questions in a form that a system message asks for.

The system message says how to answer, in one of many wordings, and shows up to five few-shot examples;
then one question or several follow. All of them come from the practice questions of MMLU. The corpus's
own conversations have no system message, and the tokenizer knows nothing of these.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workflow_scripts.miniature.corpus import write_documents
from workflow_scripts.miniature.datasets import chat, mmlu
from workflow_scripts.miniature.exercises import lettered
from workflow_scripts.miniature.items import Row
from workflow_scripts.miniature.world import World

CONVERSATIONS = 24_000


@dataclass(frozen=True)
class Form:
    """A form of answer: how often it is wanted, in which words, and what it looks like."""

    share: float
    wordings: tuple[str, ...]
    answer: Callable[[Row], str]
    by_letter: bool = False


def _right(row: Row) -> str:
    return row["choices"][row["answer"]]


FORMS = (
    Form(
        0.5,
        (
            'Reply in JSON: {"Answer": "<the right choice>"}',
            'Give the right choice in this form:\n{"Answer": "<the right choice>"}',
            'Write JSON with the key "Answer" and the text of the right choice.',
            "Use the JSON form of the examples.",
        ),
        lambda row: json.dumps({"Answer": _right(row)}),
    ),
    Form(
        0.2,
        (
            "Reply with one line: Answer: <the right choice>",
            'Begin with "Answer:" and write the right choice behind it.',
            "Write Answer: and the text of the right choice, nothing else.",
        ),
        lambda row: f"Answer: {_right(row)}",
    ),
    Form(
        0.1, ("Reply with the right choice alone.", "Write the text of the right choice."), _right
    ),
    Form(
        0.2,
        ("Say which letter is the best.", "Reply with: The best answer is <letter>."),
        chat.letter_response,
        by_letter=True,
    ),
)
_OPENINGS = (
    "",
    "This is a test.",
    "You sit a test. Each question has one right choice.",
    "You are asked questions. Each comes with a list of choices.",
)
_ANNOUNCEMENTS = (
    "",
    "",
    "An example:\n",
    "----------\n",
    "----------\nAnother question was answered so:\n",
)
_CLOSINGS = ("", "", "", "Take one of the choices.", "Do not explain. Keep to the form.")
_ENDS = ("", "", "", "\nWhat is your answer?", "\nWhat is the final answer?")
# Most system messages show two examples at most; the long ones cost most of the reading.
_EXAMPLES, _THEIR_WEIGHTS = (0, 1, 2, 5), (20, 25, 25, 30)
_TURNS, _THEIR_SHARES = (1, 2, 4), (40, 30, 30)


def write_conversations(world: World, path: Path) -> None:
    rng = world.rng("conversations")
    practice = mmlu.practice_rows(world)
    write_documents([_conversation(rng, practice) for _ in range(CONVERSATIONS)], path)


def _conversation(rng: random.Random, practice: list[Row]) -> dict:
    form = rng.choices(FORMS, [form.share for form in FORMS])[0]
    examples = rng.choices(_EXAMPLES, _THEIR_WEIGHTS)[0]
    turns = rng.choices(_TURNS, _THEIR_SHARES)[0]
    rows = [mmlu.reordered(row, rng) for row in rng.sample(practice, examples + turns)]
    end = rng.choice(_ENDS)
    return {
        "kind": "conversation",
        "system": _system(rng, form, rows[:examples]),
        "prompts": [_question(form, row) + end for row in rows[examples:]],
        "completions": [form.answer(row) for row in rows[examples:]],
    }


def _system(rng: random.Random, form: Form, examples: list[Row]) -> str:
    announcement = rng.choice(_ANNOUNCEMENTS)
    shown = [f"{announcement}{_question(form, row)}\n{form.answer(row)}" for row in examples]
    parts = [rng.choice(_OPENINGS), rng.choice(form.wordings), *shown, rng.choice(_CLOSINGS)]
    return rng.choice(["\n", "\n\n"]).join(part for part in parts if part)


def _question(form: Form, row: Row) -> str:
    listed = lettered(row["choices"]) if form.by_letter else f"\nChoices: {row['choices']}"
    return row["question"] + listed
