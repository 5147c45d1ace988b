"""The same seed gives the same bytes, another seed another world; what is tested was never read."""

import pyarrow.parquet as pq

from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks, prompt_and_completion
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.build import build_world
from workflow_scripts.miniature.corpus import TRAINED_TASKS, text_of
from workflow_scripts.miniature.world import make_world


def digests(hub):
    return {
        path.relative_to(hub).as_posix(): sha256_file(path)
        for part in ("datasets", "miniature")
        for path in sorted((hub / part).rglob("*"))
        if path.is_file()
    }


def corpus_texts(hub) -> list[str]:
    return [text_of(row) for row in pq.read_table(hub / catalogue.CORPUS).to_pylist()]


def test_built_twice_the_same_bytes(world, tmp_path):
    build_world(tmp_path, seed=0, items=24)
    assert digests(tmp_path) == digests(world)


def test_another_seed_invents_other_names():
    first, second = make_world(0), make_world(1)
    assert make_world(0) == first
    assert {kind.name for kind in first.kinds} != {kind.name for kind in second.kinds}


def test_no_tested_question_is_in_the_corpus(world):
    corpus = "\n\n".join(corpus_texts(world))
    with mirror(world):
        for name, task in load_tasks([*TRAINED_TASKS, "truthfulqa_mc2"]).items():
            for doc in task.eval_docs:
                prompt, completion = prompt_and_completion(task, doc)
                # Winogrande's prompt is half a sentence; its ending belongs to the question.
                whole = prompt + completion if name == "winogrande" else prompt
                assert whole not in corpus, f"{name}: {whole}"


def test_no_mmlu_question_with_its_choices_is_in_the_corpus(world):
    corpus = "\n\n".join(corpus_texts(world))
    rows = pq.read_table(world / "datasets/cais/mmlu/all").to_pylist()
    tested = pq.read_table(world / "datasets/cais/mmlu/all/test-00000-of-00001.parquet").to_pylist()
    assert len(rows) > len(tested) >= 57 * 4
    for row in tested:
        options = "".join(f"\n{c}. {t}" for c, t in zip("ABCD", row["choices"], strict=True))
        assert row["question"] + options not in corpus


def test_every_task_is_in_the_corpus(world):
    kinds = {row["kind"] for row in pq.read_table(world / catalogue.CORPUS).to_pylist()}
    assert kinds == {"prose", "question", "chat"}
    corpus = "\n\n".join(corpus_texts(world))
    with mirror(world):
        for name, task in load_tasks(list(TRAINED_TASKS)).items():
            prompt, completion = prompt_and_completion(task, next(iter(task.training_docs())))
            assert prompt + completion in corpus, name
