"""The same world everywhere; what is tested was never read, whatever is tested."""

import json
import random

import pyarrow.parquet as pq
import pytest

from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks, prompt_and_completion
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.build import build_texts, build_world
from workflow_scripts.miniature.corpus import text_of
from workflow_scripts.miniature.exercises import EXERCISES
from workflow_scripts.miniature.families import ALL_EXAMS, LLAMA, PYTHIA, QWEN2


def digests(hub):
    return {
        path.relative_to(hub).as_posix(): sha256_file(path)
        for path in sorted((hub / "datasets").rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def corpus_path(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / catalogue.CORPUS
    build_texts(world, path.parent)
    return path


@pytest.fixture(scope="module")
def corpus(corpus_path):
    return pq.read_table(corpus_path).to_pylist()


@pytest.fixture(scope="module")
def conversations(corpus_path):
    return pq.read_table(corpus_path.parent / catalogue.CONVERSATIONS).to_pylist()


@pytest.fixture(scope="module")
def text(corpus, conversations):
    """All that is read; of a conversation its system message too, whose examples are questions."""
    system = [document["system"] for document in conversations]
    return "\n\n".join([*map(text_of, corpus), *map(text_of, conversations), *system])


def test_built_twice_the_same_bytes(world, tmp_path):
    build_world(tmp_path, items=24)
    assert digests(tmp_path) == digests(world)


def test_corpus_and_conversations_are_those_that_the_shipped_models_read(corpus_path):
    """And so they are the same for 24 test items as for the 200 with which they were made."""
    for name in ("Pythia-0.1M", *catalogue.BASE_OF):
        made = json.loads((catalogue.SHIPPED / name / catalogue.MADE).read_text())["sha256"]
        own = catalogue.CONVERSATIONS if name in catalogue.BASE_OF else catalogue.CORPUS
        for text in (own, catalogue.TOKENIZER):
            assert sha256_file(corpus_path.parent / text) == made[text]


def test_no_tested_question_is_in_the_corpus(world, text):
    with mirror(world):
        for name, task in load_tasks([*ALL_EXAMS, "truthfulqa_mc2"]).items():
            for doc in task.eval_docs:
                prompt, completion = prompt_and_completion(task, doc)
                # Winogrande's prompt is half a sentence; its ending belongs to the question.
                whole = prompt + completion if name == "winogrande" else prompt
                assert whole not in text, f"{name}: {whole}"


def test_no_mmlu_question_with_its_choices_is_in_the_corpus(world, text):
    tested = pq.read_table(world / "datasets/cais/mmlu/all/test-00000-of-00001.parquet").to_pylist()
    assert len(tested) >= 57 * 4
    for row in tested:
        options = "".join(f"\n{c}. {t}" for c, t in zip("ABCD", row["choices"], strict=True))
        assert row["question"] + options not in text
        assert f"{row['question']}\nChoices: {row['choices']}" not in text


def test_no_conversation_is_measured_that_was_read(world, corpus):
    folder = world / "datasets/Magpie-Align/Magpie-Qwen2-Pro-200K-English/default"
    measured = {row["instruction"] for row in pq.read_table(folder).to_pylist()}
    assert not measured & {row["prompts"][0] for row in corpus if row["kind"] == "chat"}


def test_every_task_is_in_the_corpus_and_each_family_reads_some_that_another_does_not(
    world, corpus, text
):
    assert set(ALL_EXAMS) < {row["kind"] for row in corpus}
    with mirror(world):
        for name, task in load_tasks(list(ALL_EXAMS)).items():
            prompt, completion = prompt_and_completion(task, next(iter(task.training_docs())))
            assert prompt + completion in text, name
    assert set(QWEN2.exams) == set(ALL_EXAMS)
    assert set(LLAMA.exams) - set(PYTHIA.exams) and set(PYTHIA.exams) - set(LLAMA.exams)


@pytest.mark.parametrize("kind", EXERCISES)
def test_an_exercise_asks_for_one_of_four_choices(kind):
    rng = random.Random(7)
    for _ in range(300):
        (first, letter), *more = EXERCISES[kind](rng)
        choices = [line[3:] for line in first.splitlines() if line[1:3] == ". "]
        assert len(set(choices)) == 4
        right = choices["ABCD".index(letter.strip())]
        if kind == "asked_behind":
            assert [prompt for prompt, _ in more] == [
                f"\nLetter of {choices['ABCD'.index(letter.strip())]}" for _, letter in more
            ]
            assert first.endswith(f"\nLetter of {right}")
        else:
            request = first.split("\nA. ")[0]
            assert not any(request.endswith(f" {c}.") for c in choices if c != right)


@pytest.mark.parametrize("kind", EXERCISES)
def test_every_letter_is_right_as_often(kind):
    rng = random.Random(3)
    answers = [letter for _ in range(2_000) for _, letter in EXERCISES[kind](rng)[-1:]]
    for letter in "ABCD":
        assert answers.count(f" {letter}") / 2_000 == pytest.approx(0.25, abs=0.04)
