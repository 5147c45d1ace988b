"""Compare the baselines (chance, best constant answer) with counts on the dataset's rows."""

from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from workflow_scripts.evaluation.baselines import compute_baselines
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks


def read_rows(world, repository: str, pattern: str) -> list[dict]:
    (path,) = (world / "datasets" / repository).glob(pattern)
    return pq.read_table(path).to_pylist()


def test_baselines_equal_plain_counts(world):
    def compute(name: str):
        with mirror(world):
            (task,) = load_tasks([name]).values()
            return compute_baselines(task, list(task.eval_docs), seed=0)

    labels = [row["label"] for row in read_rows(world, "nyu-mll/glue", "sst2/validation*.parquet")]
    sst2 = compute("sst2")["acc", "none"]
    assert sst2.chance == pytest.approx(0.5)
    assert sst2.best_constant == pytest.approx(max(Counter(labels).values()) / len(labels))

    rows = read_rows(world, "nyu-mll/glue", "mrpc/validation*.parquet")
    fraction = np.mean([row["label"] for row in rows])
    mrpc = compute("mrpc")
    assert mrpc["f1", "none"].best_constant == pytest.approx(2 * fraction / (1 + fraction))
    assert mrpc["acc", "none"].best_constant == pytest.approx(max(fraction, 1 - fraction))
    cola = compute("cola")["mcc", "none"]
    assert cola.best_constant == 0 and abs(cola.chance) < 0.1

    rows = read_rows(world, "allenai/ai2_arc", "ARC-Challenge/test*.parquet")
    expected = np.mean([1 / len(row["choices"]["text"]) for row in rows])
    assert compute("arc_challenge")["acc_norm", "none"].chance == pytest.approx(expected)

    rows = read_rows(world, "truthfulqa/truthful_qa", "multiple_choice/validation*.parquet")
    expected = np.mean([np.mean(row["mc2_targets"]["labels"]) for row in rows])
    assert compute("truthfulqa_mc2")["acc", "none"].chance == pytest.approx(expected)

    rows = read_rows(world, "openai/gsm8k", "main/test*.parquet")
    finals = Counter(row["answer"].split("#### ")[1] for row in rows)
    gsm8k = compute("gsm8k")["exact_match", "flexible-extract"]
    assert gsm8k.best_constant == pytest.approx(max(finals.values()) / len(rows))
    assert gsm8k.chance is None and compute("wikitext") == {}
