"""Build the pre-training corpus: prose, exam questions, exercises, conversations.

lm-eval's task definitions format the exam questions from the training splits, so a model is trained on the formats
of the tests and never on their items. The corpus uses only training splits, so it does not depend on the number of
test items.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import build_prompt_and_completion, load_tasks
from workflow_scripts.miniature.datasets import chat, mmlu
from workflow_scripts.miniature.exercises import EXERCISES, Turns
from workflow_scripts.miniature.prose import write_paragraph
from workflow_scripts.miniature.specs import ALL_EXAMS
from workflow_scripts.miniature.tables import Row
from workflow_scripts.miniature.world import get_rng

PROSE_DOCUMENTS = 40_000
EXERCISE_DOCUMENTS = 60_000
LETTER_DOCUMENTS = 60_000
PLAIN_DOCUMENTS = 10_000
PAPERS = 12_000
_LEADS = ("", "Question: ")

Document = dict[str, Any]


def build_corpus(hub: Path, path: Path) -> list[str]:
    """Write the corpus from the training splits in the hub folder; return its text for the tokenizer."""
    documents = [
        *_write_prose(),
        *_write_exams(hub),
        *_write_exercises(),
        *_write_single_questions(),
        *_write_papers(),
        *_write_chats(),
    ]
    write_documents(documents, path)
    return [get_text(document) for document in documents]


def write_documents(documents: list[Document], path: Path) -> None:
    with open_atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(documents), temporary)


def get_text(document: Document) -> str:
    turns = zip(document["prompts"], document["completions"], strict=True)
    return "".join(prompt + completion for prompt, completion in turns)


def _write_prose() -> Iterator[Document]:
    rng = get_rng("corpus", "prose")
    for _ in range(PROSE_DOCUMENTS):
        paragraphs = [write_paragraph(rng) for _ in range(rng.choice([1, 1, 2, 4]))]
        yield _make_document("prose", [("\n".join(paragraphs), "")])


def _write_exams(hub: Path) -> Iterator[Document]:
    """Write the training questions of each task, each once, up to six per document.

    Each task is a separate kind, because not every family is trained on all tasks.
    """
    with mirror(hub):
        for name, task in load_tasks(list(ALL_EXAMS)).items():
            turns = [build_prompt_and_completion(task, doc) for doc in task.training_docs()]
            rng = get_rng("corpus", name)
            rng.shuffle(turns)
            description = task.config.description or ""
            while turns:
                length = _draw_length(rng)
                paper = turns[:length]
                yield _make_paper(name, paper, description, task.config.fewshot_delimiter)
                turns = turns[length:]


def _write_exercises() -> Iterator[Document]:
    for kind, exercise in EXERCISES.items():
        rng = get_rng("corpus", kind)
        for _ in range(EXERCISE_DOCUMENTS):
            yield _make_document(kind, exercise(rng))


def _write_single_questions() -> Iterator[Document]:
    """Write single MMLU questions: with shuffled choices and an answer by letter, or with the answer's text."""
    rng = get_rng("corpus", "single questions")
    rows = mmlu.make_practice()
    for _ in range(LETTER_DOCUMENTS):
        row = rng.choice(rows)
        header = rng.choice(["", _make_header(row["subject"])])
        row = mmlu.reorder_choices(row, rng)
        question, letter = _ask_by_letter(row, rng.choice(_LEADS))
        yield _make_document("letters", [(header + question, letter)])
    for _ in range(PLAIN_DOCUMENTS):
        row = rng.choice(rows)
        turn = f"Question: {row['question']}\nAnswer:", f" {mmlu.get_answer(row)}"
        yield _make_document("plain", [turn])


def _write_papers() -> Iterator[Document]:
    """Write several four-choice questions of one subject in the formats of lm-eval and lighteval."""
    rng = get_rng("corpus", "papers by letter")
    practice = mmlu.make_practice()
    by_subject = {
        subject: [row for row in practice if row["subject"] == subject] for subject in mmlu.SUBJECTS
    }
    for _ in range(PAPERS):
        subject = rng.choice(mmlu.SUBJECTS)
        lead = rng.choice(_LEADS)
        rows = rng.sample(by_subject[subject], _draw_length(rng))
        turns = [_ask_by_letter(mmlu.reorder_choices(row, rng), lead) for row in rows]
        yield _make_paper("papers", turns, _make_header(subject), "\n\n")


def _write_chats() -> Iterator[Document]:
    for row in chat.make_conversations()["corpus"]:
        yield _make_document("chat", [(row["instruction"], row["response"])])


def _make_header(subject: str) -> str:
    topic = subject.replace("_", " ")
    return f"The following are multiple choice questions (with answers) about {topic}.\n\n"


def _ask_by_letter(row: Row, lead: str) -> tuple[str, str]:
    choices = mmlu.list_choices(row["choices"])
    return f"{lead}{row['question']}{choices}\nAnswer:", f" {mmlu.get_letter(row)}"


def _draw_length(rng: Random) -> int:
    """Sample the number of questions of a document: mostly one, sometimes several as in an exam paper."""
    return rng.choices([1, 2, 3, 6], [55, 20, 15, 10])[0]


def _make_paper(kind: str, turns: Turns, description: str, delimiter: str) -> Document:
    (prompt, answer), *others = turns
    others = [(delimiter + prompt, answer) for prompt, answer in others]
    return _make_document(kind, [(description + prompt, answer), *others])


def _make_document(kind: str, turns: Turns) -> Document:
    prompts, completions = zip(*turns, strict=True)
    return {"kind": kind, "prompts": prompts, "completions": completions}
