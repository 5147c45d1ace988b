"""Read the questions of MMLU, from the benchmark itself or from the vendor's evaluation of it."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.settings.prompts.spec import DATASETS

LETTERS = "ABCDEFGHIJ"
_VENDOR_CONFIG = "Llama-3.2-1B-Instruct-evals__mmlu__details"
_VENDOR_LETTER = re.compile(r"(?:^|\W)([A-J])\W*$")


@dataclass(frozen=True)
class Question:
    """One question; a few-shot example is one too, whose answer is shown."""

    id: str  # the same wherever the question comes from, so that runs can be compared by it
    subject: str
    text: str
    choices: tuple[str, ...]
    gold: int
    prompt: str | None = None  # the vendor's, finished

    @property
    def answer(self) -> str:
        return self.choices[self.gold]


def read_questions(hub: Path, source: str) -> tuple[list[Question], Manifest]:
    """Read the test questions, in the order of the dataset."""
    if source == "vendor":
        rows, manifest = read_rows(hub, DATASETS[source], _VENDOR_CONFIG, "latest")
        return _with_ids([_vendor_question(row) for row in rows]), manifest
    rows, manifest = read_rows(hub, DATASETS[source], "all", "test")
    return _with_ids([_question(row) for row in rows]), manifest


def read_dev(hub: Path) -> list[Question]:
    rows, _ = read_rows(hub, DATASETS["mmlu"], "all", "dev")
    return _with_ids([_question(row) for row in rows])


def chosen(questions: list[Question], first: int | None, per_subject: int | None) -> list[Question]:
    """Select the first n of the dataset, and of these the first few of each subject."""
    counts: Counter[str] = Counter()
    selected = []
    for question in questions[:first]:
        counts[question.subject] += 1
        if per_subject is None or counts[question.subject] <= per_subject:
            selected.append(question)
    return selected


def _question(row: dict[str, Any]) -> Question:
    return Question("", row["subject"], row["question"], tuple(row["choices"]), row["answer"])


def _vendor_question(row: dict[str, Any]) -> Question:
    subject = row["subtask_name"].rpartition(".")[2]
    letters = sorted(row["input_choice_list"])
    key = row["input_correct_responses"][0]
    match = _VENDOR_LETTER.search(key)
    if match is None or match[1] not in letters:
        raise UserError(f"{DATASETS['vendor']}: {key!r} is the right answer of none of {letters}.")
    choices = tuple(row["input_choice_list"][letter] for letter in letters)
    (prompt,) = row["input_final_prompts"]
    gold = letters.index(match[1])
    return Question("", subject, row["input_question"], choices, gold, prompt=prompt)


def _with_ids(questions: list[Question]) -> list[Question]:
    """Make ids from what is asked; MMLU asks some questions twice."""
    counts: Counter[str] = Counter()
    named = []
    for question in questions:
        text = "\n".join(" ".join(part.split()) for part in (question.text, *question.choices))
        id = f"{question.subject}/{sha256_text(text)[:12]}"
        counts[id] += 1
        named.append(replace(question, id=id + (f"-{counts[id]}" if counts[id] > 1 else "")))
    return named
