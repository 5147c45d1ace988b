"""Write the training conversations of the instruct models: questions with a system message about the answer format.

The system message describes the format in one of many wordings, with up to five few-shot examples;
one to four questions follow. All questions are practice questions of MMLU. The conversations in the corpus
have no system message. The tokenizer is not trained on the conversations of this module.
"""

from pathlib import Path
from random import Random
from typing import Any

from workflow_scripts.miniature.catalogue import load_yaml
from workflow_scripts.miniature.corpus import write_documents
from workflow_scripts.miniature.datasets import mmlu
from workflow_scripts.miniature.tables import Row
from workflow_scripts.miniature.world import get_rng

NUM_CONVERSATIONS = 24_000
_TEXTS: dict[str, Any] = load_yaml("conversations")
_SHARES = [form["share"] for form in _TEXTS["forms"]]


def write_conversations(path: Path) -> None:
    rng = get_rng("conversations")
    practice = mmlu.make_practice()
    write_documents([_converse(rng, practice) for _ in range(NUM_CONVERSATIONS)], path)


def _converse(rng: Random, practice: list[Row]) -> dict[str, Any]:
    form = rng.choices(_TEXTS["forms"], _SHARES)[0]
    # Most system messages have at most two examples, because long ones have most of the tokens.
    examples = rng.choices([0, 1, 2, 5], [20, 25, 25, 30])[0]
    turns = rng.choices([1, 2, 4], [40, 30, 30])[0]
    rows = [mmlu.reorder_choices(row, rng) for row in rng.sample(practice, examples + turns)]
    end = rng.choice(_TEXTS["ends"])
    questions = [_ask(form, row) for row in rows]
    answers = [
        form["answer"].format(right=mmlu.get_answer(row), letter=mmlu.get_letter(row))
        for row in rows
    ]
    announcement = rng.choice(_TEXTS["announcements"])
    parts = [rng.choice(_TEXTS["openings"]), rng.choice(form["wordings"])]
    parts += [f"{announcement}{questions[i]}\n{answers[i]}" for i in range(examples)]
    parts.append(rng.choice(_TEXTS["closings"]))
    return {
        "kind": "conversation",
        "system": rng.choice(["\n", "\n\n"]).join(filter(None, parts)),
        "prompts": [question + end for question in questions[examples:]],
        "completions": answers[examples:],
    }


def _ask(form: dict[str, Any], row: Row) -> str:
    choices = row["choices"]
    listed = mmlu.list_choices(choices) if "by_letter" in form else f"\nChoices: {choices}"
    return row["question"] + listed
