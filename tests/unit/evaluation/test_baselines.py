"""Chance and the best fixed answer, held against plain counts on the dataset's own rows."""

from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from workflow_scripts.evaluation.baselines import floors
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks


@pytest.fixture(scope="module")
def floors_of(world):
    def compute(name: str):
        with mirror(world):
            (task,) = load_tasks([name]).values()
            return floors(task, list(task.eval_docs), seed=0)

    return compute


def rows(world, repository: str, pattern: str) -> list[dict]:
    (path,) = (world / "datasets" / repository).glob(pattern)
    return pq.read_table(path).to_pylist()


def test_two_classes_chance_is_half_and_the_constant_the_larger_class(world, floors_of):
    labels = [row["label"] for row in rows(world, "nyu-mll/glue", "sst2/validation*.parquet")]
    floor = floors_of("sst2")["acc", "none"]
    assert floor.chance == pytest.approx(0.5)
    assert floor.best_constant == pytest.approx(max(Counter(labels).values()) / len(labels))


def test_f1_of_always_yes_and_mcc_of_any_constant(world, floors_of):
    labels = [row["label"] for row in rows(world, "nyu-mll/glue", "mrpc/validation*.parquet")]
    share = np.mean(labels)
    found = floors_of("mrpc")
    assert found["f1", "none"].best_constant == pytest.approx(2 * share / (1 + share))
    assert found["acc", "none"].best_constant == pytest.approx(max(share, 1 - share))
    cola = floors_of("cola")["mcc", "none"]
    assert cola.best_constant == 0
    assert abs(cola.chance) < 0.1


def test_with_differing_numbers_of_choices_chance_is_the_mean_of_the_inverses(world, floors_of):
    questions = rows(world, "allenai/ai2_arc", "ARC-Challenge/test*.parquet")
    expected = np.mean([1 / len(row["choices"]["text"]) for row in questions])
    assert floors_of("arc_challenge")["acc_norm", "none"].chance == pytest.approx(expected)


def test_probability_mass_on_several_true_answers(world, floors_of):
    questions = rows(world, "truthfulqa/truthful_qa", "multiple_choice/validation*.parquet")
    expected = np.mean([np.mean(row["mc2_targets"]["labels"]) for row in questions])
    assert floors_of("truthfulqa_mc2")["acc", "none"].chance == pytest.approx(expected)


def test_the_best_fixed_number_of_a_generation_task(world, floors_of):
    questions = rows(world, "openai/gsm8k", "main/test*.parquet")
    finals = Counter(row["answer"].split("#### ")[1] for row in questions)
    floor = floors_of("gsm8k")["exact_match", "flexible-extract"]
    assert floor.best_constant == pytest.approx(max(finals.values()) / len(questions))
    assert floor.chance is None and floors_of("wikitext") == {}
