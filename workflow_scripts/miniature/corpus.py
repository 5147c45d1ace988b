"""The text the models grow up on: prose, exam questions, exercises, conversations.

The exam questions are written by lm-eval's own tasks from their training splits, so a model meets in
training the formats, and never the items, that it will be tested on. Only training splits enter: the
corpus is the same for any number of test items.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workflow_scripts.core.files import atomic_path
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks, prompt_and_completion
from workflow_scripts.miniature import prose
from workflow_scripts.miniature.datasets import chat, mmlu
from workflow_scripts.miniature.exercises import EXERCISES, lettered
from workflow_scripts.miniature.families import ALL_EXAMS
from workflow_scripts.miniature.world import World

PROSE_DOCUMENTS = 40_000
EXERCISE_DOCUMENTS = 60_000
LETTER_DOCUMENTS = 60_000
PLAIN_DOCUMENTS = 10_000
PAPERS = 12_000
# Most questions stand alone; some documents hold several, as an exam paper would.
QUESTIONS_PER_DOCUMENT, THEIR_WEIGHTS = (1, 2, 3, 6), (55, 20, 15, 10)


def build_corpus(hub: Path, world: World, path: Path) -> list[str]:
    """Write the corpus from the training splits in the hub folder; return its text for the tokenizer."""
    documents = [
        *_prose(world),
        *_exams(hub, world),
        *_exercises(world),
        *_single_questions(world),
        *_papers_by_letter(world),
        *_chats(world),
    ]
    write_documents(documents, path)
    return [text_of(document) for document in documents]


def write_documents(documents: list[dict], path: Path) -> None:
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(documents), temporary)


def text_of(document: dict) -> str:
    pieces = zip(document["prompts"], document["completions"], strict=True)
    return "".join(prompt + completion for prompt, completion in pieces)


def _prose(world: World) -> Iterator[dict]:
    rng = world.rng("corpus", "prose")
    for _ in range(PROSE_DOCUMENTS):
        text = "\n".join(prose.paragraph(world, rng) for _ in range(rng.choice([1, 1, 2, 4])))
        yield _document("prose", [(text, "")])


def _exams(hub: Path, world: World) -> Iterator[dict]:
    """The training questions of each task, each once, a few in a document.

    They are a kind of their own: not every family reads all.
    """
    with mirror(hub):
        for name, task in load_tasks(list(ALL_EXAMS)).items():
            pairs = [prompt_and_completion(task, doc) for doc in task.training_docs()]
            description, delimiter = task.config.description or "", task.config.fewshot_delimiter
            rng = world.rng("corpus", name)
            rng.shuffle(pairs)
            while pairs:
                count = _paper_length(rng)
                yield _paper(name, pairs[:count], description, delimiter)
                pairs = pairs[count:]


def _exercises(world: World) -> Iterator[dict]:
    for kind, exercise in EXERCISES.items():
        rng = world.rng("corpus", kind)
        for _ in range(EXERCISE_DOCUMENTS):
            yield _document(kind, exercise(rng))


def _single_questions(world: World) -> Iterator[dict]:
    """Questions in MMLU's manner, by letter with their choices in ever new orders, and in plain words."""
    rng = world.rng("corpus", "single questions")
    rows = mmlu.practice_rows(world)
    for _ in range(LETTER_DOCUMENTS):
        row = rng.choice(rows)
        header = rng.choice(["", _header(row["subject"])])
        question, answer = _by_letter(mmlu.reordered(row, rng), rng.choice(["", "Question: "]))
        yield _document("letters", [(header + question, answer)])
    for _ in range(PLAIN_DOCUMENTS):
        row = rng.choice(rows)
        right = row["choices"][row["answer"]]
        yield _document("plain", [(f"Question: {row['question']}\nAnswer:", f" {right}")])


def _papers_by_letter(world: World) -> Iterator[dict]:
    """Four-choice questions of one subject as lm-eval writes them and as lighteval does."""
    rng = world.rng("corpus", "papers by letter")
    by_subject: dict[str, list[dict]] = {}
    for row in mmlu.practice_rows(world):
        by_subject.setdefault(row["subject"], []).append(row)
    subjects = sorted(by_subject)
    for _ in range(PAPERS):
        subject = rng.choice(subjects)
        lead = rng.choice(["", "Question: "])
        rows = rng.sample(by_subject[subject], _paper_length(rng))
        pairs = [_by_letter(mmlu.reordered(row, rng), lead) for row in rows]
        yield _paper("papers", pairs, _header(subject), "\n\n")


def _header(subject: str) -> str:
    about = subject.replace("_", " ")
    return f"The following are multiple choice questions (with answers) about {about}.\n\n"


def _by_letter(row: dict, lead: str) -> tuple[str, str]:
    question = f"{lead}{row['question']}{lettered(row['choices'])}\nAnswer:"
    return question, f" {'ABCD'[row['answer']]}"


def _chats(world: World) -> Iterator[dict]:
    for row in chat.drawn(world)["corpus"]:
        yield _document("chat", [(row["instruction"], row["response"])])


def _paper_length(rng: random.Random) -> int:
    return rng.choices(QUESTIONS_PER_DOCUMENT, THEIR_WEIGHTS)[0]


def _paper(kind: str, pairs: list[tuple[str, str]], description: str, delimiter: str) -> dict:
    return _document(
        kind,
        [((delimiter if i else description) + q, answer) for i, (q, answer) in enumerate(pairs)],
    )


def _document(kind: str, pairs: list[tuple[str, str]]) -> dict:
    return {
        "kind": kind,
        "prompts": [prompt for prompt, _ in pairs],
        "completions": [completion for _, completion in pairs],
    }
