"""Compare direct evaluation item by item with a simple reference."""

import math
from collections import Counter

import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.cells import make_cell
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.hub.manifest import read_manifest


@pytest.fixture
def evaluate(world, model_manifest, tmp_path):
    def run(task: str, metric: str, **changes):
        path = tmp_path / "record.json"
        evaluate_direct(model_manifest, world, path, make_cell(task, metric, **changes))
        return read_record(path), read_items(path).to_pylist()

    return run


def compute_plain_loglikelihood(model, tokenizer, context: str, continuation: str) -> float:
    """Score one sequence without cache or batch: slow but simple."""
    prefix = tokenizer(context).input_ids
    whole = tokenizer(context + continuation).input_ids
    logits = model(torch.tensor([whole])).logits[0].log_softmax(-1)
    return sum(logits[end - 1, whole[end]].item() for end in range(len(prefix), len(whole)))


def test_direct_items_equal_plain(world, model_manifest, evaluate):
    record, items = evaluate("sst2", "acc")
    folder = model_manifest.parent
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (path,) = (world / "datasets/nyu-mll/glue/sst2").glob("validation*.parquet")
    rows = pq.read_table(path).to_pylist()
    assert len(items) == len(rows) == record.metrics[0].n
    for row, item in zip(rows, items, strict=True):
        # The prompt of the published task.
        context = f"{row['sentence']}\nQuestion: Is this sentence positive or negative?\nAnswer:"
        expected = [
            compute_plain_loglikelihood(model, tokenizer, context, choice)
            for choice in (" negative", " positive")
        ]
        assert item["loglikelihoods"] == pytest.approx(expected, abs=1e-4)
        assert item["gold"] == str(row["label"])
        assert item["prediction"] == str(max((0, 1), key=expected.__getitem__))
        assert item["correct"] == (item["prediction"] == item["gold"])
    right = sum(item["correct"] for item in items)
    assert record.metrics[0].value == pytest.approx(right / len(rows))


def test_direct_records_by_task_kind(evaluate, model_manifest, world):
    record, _ = evaluate("arc_easy", "acc_norm", max_test_items=10)
    dataset = read_manifest(world / "datasets/allenai/ai2_arc/manifest.json")
    assert record.model.weights_sha256 == read_manifest(model_manifest).weights_sha256
    assert (record.task.dataset_commit, record.task.subset) == (dataset.commit, "ARC-Easy")
    assert record.items.n == 10 and record.cost.tokens > 0
    _, items = evaluate("cola", "mcc", max_test_items=10)
    assert {item["correct"] for item in items} <= {True, False}
    record, items = evaluate("gsm8k", "exact_match,flexible-extract", max_test_items=4)
    assert [metric.n for metric in record.metrics] == [4, 4]
    assert all(isinstance(item["text"], str) for item in items)
    record, items = evaluate("truthfulqa_mc2", "acc", shots=5, max_test_items=4)
    assert {item["correct"] for item in items} == {None}, "graded"
    assert record.task.shots == 0, "the task contains its examples and forbids others"
    with pytest.raises(UserError, match=r"'acc_typo'.*acc, acc_norm"):
        evaluate("arc_easy", "acc_typo", max_test_items=2)


def test_group_members_and_averages(evaluate):
    record, items = evaluate("mmlu", "acc", max_test_items=2, max_items_per_member=True)
    members = [metric for metric in record.metrics if metric.subset]
    micro, macro = (metric for metric in record.metrics if not metric.subset)
    assert len(members) == 57
    assert micro.n == len(items) == sum(metric.n for metric in members)
    assert micro.value == pytest.approx(sum(item["correct"] for item in items) / len(items))
    assert macro.value == pytest.approx(sum(metric.value for metric in members) / 57)
    assert macro.stderr == pytest.approx(math.hypot(*(m.stderr for m in members)) / 57)
    # The best constant is one letter for all subjects, not the best letter of each subject.
    golds = Counter(item["gold"] for item in items)
    assert micro.best_constant == pytest.approx(max(golds.values()) / len(items))
