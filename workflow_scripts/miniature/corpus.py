"""The text the models grow up on: prose, exam questions of the training splits, conversations.

The exam questions are written by lm-eval's own tasks, so a model meets in training exactly the
formats, never the items, that it will be tested on.
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
from workflow_scripts.miniature.datasets import mmlu
from workflow_scripts.miniature.world import World

TRAINED_TASKS = (
    "anli_r1", "arc_challenge", "arc_easy", "boolq", "cola", "commonsense_qa", "gsm8k",
    "headqa_en", "hellaswag", "mathqa", "medmcqa", "mnli", "mrpc", "nq_open", "openbookqa",
    "piqa", "qnli", "qqp", "rte", "sciq", "social_iqa", "sst2", "wic", "winogrande",
)  # fmt: skip
PROSE_DOCUMENTS = 16_000
LETTER_DOCUMENTS = 6_000
# Most questions stand alone; some documents hold several, as an exam paper would.
QUESTIONS_PER_DOCUMENT, THEIR_WEIGHTS = (1, 2, 3, 6), (55, 20, 15, 10)

SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("prompts", pa.list_(pa.string())),
        pa.field("completions", pa.list_(pa.string())),
    ]
)


def build_corpus(hub: Path, world: World, items: int, path: Path) -> list[str]:
    """Write the corpus from the datasets in the hub folder; return its text for the tokenizer."""
    documents = [*_prose(world), *_questions(hub, world), *_letters(world, items), *_chats(hub)]
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(documents, SCHEMA), temporary)
    return [text_of(document) for document in documents]


def text_of(document: dict) -> str:
    pieces = zip(document["prompts"], document["completions"], strict=True)
    return "".join(prompt + completion for prompt, completion in pieces)


def _prose(world: World) -> Iterator[dict]:
    rng = world.rng("corpus", "prose")
    for _ in range(PROSE_DOCUMENTS):
        text = "\n".join(prose.paragraph(world, rng) for _ in range(rng.choice([1, 1, 2, 4])))
        yield {"kind": "prose", "prompts": [text], "completions": [""]}


def _questions(hub: Path, world: World) -> Iterator[dict]:
    with mirror(hub):
        for name, task in load_tasks(list(TRAINED_TASKS)).items():
            pairs = [prompt_and_completion(task, doc) for doc in task.training_docs()]
            description = task.config.description or ""
            yield from _papers(
                pairs, world.rng("corpus", name), description, task.config.fewshot_delimiter
            )


def _letters(world: World, items: int) -> Iterator[dict]:
    """Four-choice questions as lm-eval writes them and as lighteval does."""
    rng = world.rng("corpus", "letters")
    by_subject: dict[str, list[dict]] = {}
    for row in mmlu.practice_rows(world, items):
        by_subject.setdefault(row["subject"], []).append(row)
    subjects = sorted(by_subject)
    for _ in range(LETTER_DOCUMENTS):
        subject = rng.choice(subjects)
        lead = rng.choice(["", "Question: "])
        rows = rng.sample(by_subject[subject], _paper_length(rng))
        pairs = [_letter_pair(row, lead) for row in rows]
        about = subject.replace("_", " ")
        header = f"The following are multiple choice questions (with answers) about {about}.\n\n"
        yield _paper(pairs, header, "\n\n")


def _letter_pair(row: dict, lead: str) -> tuple[str, str]:
    options = "".join(
        f"\n{letter}. {choice}" for letter, choice in zip("ABCD", row["choices"], strict=True)
    )
    return f"{lead}{row['question']}{options}\nAnswer:", f" {'ABCD'[row['answer']]}"


def _chats(hub: Path) -> Iterator[dict]:
    folder = hub / "datasets" / "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1"
    for row in pq.read_table(folder / "default").to_pylist():
        request, reply = (turn["value"] for turn in row["conversations"])
        yield {"kind": "chat", "prompts": [request], "completions": [reply]}


def _papers(
    pairs: list[tuple[str, str]], rng: random.Random, description: str, delimiter: str
) -> Iterator[dict]:
    """Each question once, in documents of one or a few questions of its kind."""
    remaining = list(pairs)
    rng.shuffle(remaining)
    while remaining:
        count = _paper_length(rng)
        yield _paper(remaining[:count], description, delimiter)
        remaining = remaining[count:]


def _paper_length(rng: random.Random) -> int:
    return rng.choices(QUESTIONS_PER_DOCUMENT, THEIR_WEIGHTS)[0]


def _paper(pairs: list[tuple[str, str]], description: str, delimiter: str) -> dict:
    prompts = [(delimiter if i else description) + prompt for i, (prompt, _) in enumerate(pairs)]
    return {
        "kind": "question",
        "prompts": prompts,
        "completions": [completion for _, completion in pairs],
    }
