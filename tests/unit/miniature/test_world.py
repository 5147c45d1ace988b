"""Test that the demo's data is reproducible, and that no test item is in the training corpus."""

import json
import re
from bisect import bisect_left

import pyarrow.parquet as pq
import pytest

from workflow_scripts.core.files import hash_file
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import build_prompt_and_completion, load_tasks
from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS, SHIPPED
from workflow_scripts.miniature.conversations import write_conversations
from workflow_scripts.miniature.corpus import build_corpus
from workflow_scripts.miniature.specs import ALL_EXAMS


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    build_corpus(world, folder / CORPUS)
    write_conversations(folder / CONVERSATIONS)
    return folder


@pytest.fixture(scope="module")
def documents(folder):
    return [
        row for name in (CORPUS, CONVERSATIONS) for row in pq.read_table(folder / name).to_pylist()
    ]


def test_texts_match_shipped_models(folder):
    """The training texts do not depend on the number of test items: 24 here, 200 for the shipped models."""
    digests = json.loads((SHIPPED / "Llama-1.4M-Instruct/made.json").read_text())["sha256"]
    assert all(hash_file(folder / name) == digests[name] for name in (CORPUS, CONVERSATIONS))


def test_test_questions_are_not_read(world, documents):
    """No prompt of the corpus ends with a test question; a prompt may begin with an exam heading."""
    turns = [turn for d in documents for turn in zip(d["prompts"], d["completions"], strict=True)]
    read = sorted(text[::-1] for prompt, answer in turns for text in (prompt, prompt + answer))

    def is_read(text: str) -> bool:
        place = bisect_left(read, text[::-1])
        return place < len(read) and read[place].startswith(text[::-1])

    with mirror(world):
        for name, task in load_tasks([*ALL_EXAMS, "truthfulqa_mc2"]).items():
            if name in ALL_EXAMS:
                assert is_read(
                    build_prompt_and_completion(task, next(iter(task.training_docs())))[0]
                )
            for doc in task.eval_docs:
                prompt, completion = build_prompt_and_completion(task, doc)
                # Winogrande's prompt is half a sentence, so the completion is part of the question.
                assert not is_read(prompt + completion if name == "winogrande" else prompt), name


def test_mmlu_questions_are_not_read(world, documents):
    """No document or system message contains an MMLU question with its choices."""
    text = "\n\n".join(part for d in documents for part in (d.get("system", ""), *d["prompts"]))
    choices = (
        r"((?:[^\n]*\nA\. [^\n]*\nB\. [^\n]*\nC\. [^\n]*\nD\. [^\n]*)|(?:[^\n]*\nChoices: [^\n]*))"
    )
    read = {question.removeprefix("Question: ") for question in re.findall(choices, text)}
    rows = pq.read_table(world / "datasets/cais/mmlu/all/test-00000-of-00001.parquet").to_pylist()
    assert len(rows) >= 57 * 4 and len(read) > 50_000
    for row in rows:
        options = "".join(f"\n{c}. {t}" for c, t in zip("ABCD", row["choices"], strict=True))
        listed = f"\nChoices: {row['choices']}"
        assert not read & {row["question"] + options, row["question"] + listed}


def test_measured_conversations_are_not_read(world, documents):
    folder = world / "datasets/Magpie-Align/Magpie-Qwen2-Pro-200K-English/default"
    measured = {row["instruction"] for row in pq.read_table(folder).to_pylist()}
    assert not measured & {row["prompts"][0] for row in documents if row["kind"] == "chat"}
