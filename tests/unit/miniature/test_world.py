"""The same world everywhere; what is tested was never read, whatever is tested."""

import json

import pyarrow.parquet as pq
import pytest

from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks, prompt_and_completion
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.build import build_texts
from workflow_scripts.miniature.corpus import get_text
from workflow_scripts.miniature.specs import ALL_EXAMS


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    build_texts(world, folder)
    return folder


@pytest.fixture(scope="module")
def text(folder):
    """All that is read; of a conversation its system message too, whose examples are questions."""
    names = (catalogue.CORPUS, catalogue.CONVERSATIONS)
    documents = [row for name in names for row in pq.read_table(folder / name).to_pylist()]
    return "\n\n".join(document.get("system", "") + get_text(document) for document in documents)


def test_texts_are_those_that_the_shipped_models_read(folder):
    """And so they are the same for 24 test items as for the 200 with which they were made."""
    made = json.loads((catalogue.SHIPPED / "Llama-1.4M-Instruct/made.json").read_text())["sha256"]
    for name in (catalogue.CORPUS, catalogue.CONVERSATIONS, catalogue.TOKENIZER):
        assert sha256_file(folder / name) == made[name]


def test_test_questions_are_not_read(world, text):
    with mirror(world):
        for name, task in load_tasks([*ALL_EXAMS, "truthfulqa_mc2"]).items():
            for doc in task.eval_docs:
                prompt, completion = prompt_and_completion(task, doc)
                # Winogrande's prompt is half a sentence; its ending belongs to the question.
                whole = prompt + completion if name == "winogrande" else prompt
                assert whole not in text, f"{name}: {whole}"


def test_no_mmlu_question_with_its_choices_is_read(world, text):
    rows = pq.read_table(world / "datasets/cais/mmlu/all/test-00000-of-00001.parquet").to_pylist()
    assert len(rows) >= 57 * 4
    for row in rows:
        options = "".join(f"\n{c}. {t}" for c, t in zip("ABCD", row["choices"], strict=True))
        assert row["question"] + options not in text
        assert f"{row['question']}\nChoices: {row['choices']}" not in text


def test_no_measured_conversation_is_read(world, text):
    folder = world / "datasets/Magpie-Align/Magpie-Qwen2-Pro-200K-English/default"
    for row in pq.read_table(folder).to_pylist():
        assert row["instruction"] + row["response"] not in text
