"""Read the questions of MMLU from the benchmark's dataset or from the vendor's evaluation of it."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_text
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.settings.prompts.spec import DATASETS

LETTERS = "ABCDEFGHIJ"
_VENDOR_CONFIG = "Llama-3.2-1B-Instruct-evals__mmlu__details"
_VENDOR_LETTER = re.compile(r"(?:^|\W)([A-J])\W*$")


@dataclass(frozen=True)
class Question:
    """A multiple-choice question, or a few-shot example."""

    id: str  # equal in both datasets, so that runs can be compared by question
    subject: str
    text: str
    choices: tuple[str, ...]
    gold: int
    prompt: str | None = None  # the vendor's complete prompt

    @property
    def answer(self) -> str:
        return self.choices[self.gold]


def read_questions(hub: Path, source: str) -> tuple[list[Question], Manifest]:
    """Read the test questions, in the order of the dataset."""
    if source == "vendor":
        rows, manifest = read_rows(hub, DATASETS[source], _VENDOR_CONFIG, "latest")
        rows = [_convert_vendor_row(row) for row in rows]
    else:
        rows, manifest = read_rows(hub, DATASETS[source], "all", "test")
    return _make_questions(rows), manifest


def read_dev(hub: Path) -> list[Question]:
    """Read the questions of the dev split, from which few-shot examples are sampled."""
    return _make_questions(read_rows(hub, DATASETS["mmlu"], "all", "dev")[0])


def select_questions(
    questions: list[Question], first: int | None, per_subject: int | None
) -> list[Question]:
    """Select the first `first` questions of the dataset, and then at most `per_subject` of each subject."""
    counts: Counter[str] = Counter()
    selected = []
    for question in questions[:first]:
        counts[question.subject] += 1
        if per_subject is None or counts[question.subject] <= per_subject:
            selected.append(question)
    return selected


def _convert_vendor_row(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row of the vendor's evaluation to the columns of MMLU, with the vendor's prompt."""
    letters = sorted(row["input_choice_list"])
    key = row["input_correct_responses"][0]
    match = _VENDOR_LETTER.search(key)
    if match is None or match[1] not in letters:
        raise UserError(f"{DATASETS['vendor']}: the answer {key!r} is none of {letters}.")
    (prompt,) = row["input_final_prompts"]
    return {
        "subject": row["subtask_name"].rpartition(".")[2],
        "question": row["input_question"],
        "choices": [row["input_choice_list"][letter] for letter in letters],
        "answer": letters.index(match[1]),
        "prompt": prompt,
    }


def _make_questions(rows: list[dict[str, Any]]) -> list[Question]:
    """Make questions with ids from hashes of their texts; repeated questions of MMLU get numbered ids."""
    counts: Counter[str] = Counter()
    questions = []
    for row in rows:
        subject, text, choices = row["subject"], row["question"], tuple(row["choices"])
        content = "\n".join(" ".join(part.split()) for part in (text, *choices))
        id = f"{subject}/{hash_text(content)[:12]}"
        counts[id] += 1
        if counts[id] > 1:
            id += f"-{counts[id]}"
        questions.append(Question(id, subject, text, choices, row["answer"], row.get("prompt")))
    return questions
