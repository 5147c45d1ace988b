"""Direct evaluation, item by item against a plain reference, and the same bytes each time."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.cells import cell
from tests.tiny_models import sealed
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.lm_eval_run import sample_items
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.mirror import mirror


@pytest.fixture
def evaluate(world, model_manifest, tmp_path):
    def run(task: str, metric: str, name: str = "record", **changes):
        path = tmp_path / f"{name}.json"
        evaluate_direct(model_manifest, world, path, cell(task, metric, **changes))
        record = read_record(path)
        return record, read_items(path.with_suffix(".parquet")).to_pylist()

    return run


def plain_loglikelihood(model, tokenizer, context: str, continuation: str) -> float:
    """One sequence at a time, no cache, no batch: slow and hard to get wrong."""
    prefix = tokenizer(context).input_ids
    whole = tokenizer(context + continuation).input_ids
    logits = model(torch.tensor([whole])).logits[0].log_softmax(-1)
    return sum(logits[at - 1, whole[at]].item() for at in range(len(prefix), len(whole)))


def test_every_item_agrees_with_a_plain_reference(world, model_manifest, evaluate):
    record, items = evaluate("sst2", "acc")
    folder = model_manifest.parent
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (path,) = (world / "datasets/nyu-mll/glue/sst2").glob("validation*.parquet")
    rows = pq.read_table(path).to_pylist()
    assert len(items) == len(rows) == record.metrics[0].n
    right = 0
    for row, item in zip(rows, items, strict=True):
        # The prompt as the published task spells it.
        context = f"{row['sentence']}\nQuestion: Is this sentence positive or negative?\nAnswer:"
        expected = [
            plain_loglikelihood(model, tokenizer, context, choice)
            for choice in (" negative", " positive")
        ]
        assert item["loglikelihoods"] == pytest.approx(expected, abs=1e-4)
        assert item["gold"] == str(row["label"])
        assert item["prediction"] == str(max((0, 1), key=expected.__getitem__))
        assert item["correct"] == (item["prediction"] == item["gold"])
        right += item["correct"]
    assert record.metrics[0].value == pytest.approx(right / len(rows))


def test_twice_the_same_measurement_has_the_same_bytes(evaluate, tmp_path):
    first, _ = evaluate("arc_easy", "acc_norm", "first")
    second, _ = evaluate("arc_easy", "acc_norm", "second")
    assert first.stable_bytes().replace(b"first", b"second") == second.stable_bytes()
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "second.parquet").read_bytes()


def test_record_and_items_of_each_kind_of_task(evaluate, model_manifest, world):
    record, _ = evaluate("arc_easy", "acc_norm", max_test_items=10, seed=7)
    manifest = read_manifest(model_manifest)
    dataset = read_manifest(world / "datasets/allenai/ai2_arc/manifest.json")
    assert record.model.weights_sha256 == manifest.weights_sha256
    assert (record.task.dataset_commit, record.task.subset) == (dataset.commit, "ARC-Easy")
    assert {metric.name for metric in record.metrics} == {"acc", "acc_norm"}
    assert record.items.n == 10 and record.cost.tokens > 0
    request = cell("arc_easy", "acc_norm", max_test_items=10, seed=7)
    assert record.request == request.to_params()
    record, items = evaluate("cola", "mcc")
    assert {item["correct"] for item in items} <= {True, False}
    record, items = evaluate("gsm8k", "exact_match,flexible-extract", max_test_items=4)
    assert [metric.n for metric in record.metrics] == [4, 4]
    assert all(isinstance(item["text"], str) for item in items)
    record, items = evaluate("truthfulqa_mc2", "acc", shots=5)
    assert {item["correct"] for item in items} == {None}, "graded"
    assert record.task.shots == 0, "its examples stand in the task itself, which forbids others"


def test_a_group_has_its_members_and_both_averages(evaluate):
    record, items = evaluate("mmlu", "acc")
    members = [metric for metric in record.metrics if metric.subset]
    micro, macro = (metric for metric in record.metrics if not metric.subset)
    assert len(members) == 57
    assert (micro.name, macro.name) == ("acc", "acc_macro")
    assert micro.n == len(items) == sum(metric.n for metric in members)
    correct = [item["correct"] for item in items]
    assert micro.value == pytest.approx(sum(correct) / len(correct))
    assert macro.value == pytest.approx(sum(metric.value for metric in members) / 57)
    # One letter for all subjects, not the luckiest letter of each.
    golds = Counter(item["gold"] for item in items)
    assert micro.best_constant == pytest.approx(max(golds.values()) / len(items))
    _, items = evaluate("mmlu", "acc_macro", max_test_items=1, max_items_per_member=True)
    assert len(items) == len({item["subset"] for item in items}) == 57


def test_items_are_drawn_by_seed_and_task_over_a_whole_group():
    (drawn,) = sample_items({"sst2": 1000}, 50, seed=0, task="sst2").values()
    assert drawn == sorted(set(drawn)) and len(drawn) == 50
    assert sample_items({"sst2": 1000}, 50, seed=0, task="sst2") == {"sst2": drawn}
    for seed, task in ((1, "sst2"), (0, "mnli")):
        assert sample_items({"sst2": 1000}, 50, seed, task) != {"sst2": drawn}
    for cap in (None, 50):
        assert sample_items({"sst2": 50}, cap, 0, "sst2") == {"sst2": list(range(50))}
    with pytest.raises(UserError, match="no items"):
        sample_items({"sst2": 0}, None, 0, "sst2")
    group = sample_items({"law": 9000, "art": 1000}, 1000, seed=0, task="mmlu")
    assert sum(map(len, group.values())) == 1000
    assert len(group["law"]) == pytest.approx(900, abs=60)


def test_texts_are_kept_where_they_are_wanted(evaluate):
    _, items = evaluate("arc_easy", "acc_norm", shots=2, max_test_items=4)
    _, kept = evaluate("arc_easy", "acc_norm", "kept", shots=2, max_test_items=4, keep_texts=True)
    for item, plain in zip(kept, items, strict=True):
        assert item["prompt"].endswith("\nAnswer:")
        assert item["prompt"].count("Question: ") == 3, "two examples in front"
        assert item["choices"][int(item["gold"])] not in ("", None)
        assert {**item, "prompt": None, "choices": None} == plain
    _, pairs = evaluate("winogrande", "acc", "pairs", max_test_items=4, keep_texts=True)
    for item in pairs:  # the sentence up to the gap; the choices fill it and go on to the end
        one, other = item["choices"]
        assert one != other and one.split()[1:] == other.split()[1:]


def test_a_metric_that_the_task_does_not_have_is_refused_with_those_it_has(evaluate):
    with pytest.raises(UserError, match=r"no 'acc_typo' for the task arc_easy.*acc, acc_norm"):
        evaluate("arc_easy", "acc_typo", max_test_items=2)


def test_mirror_names_a_missing_dataset_and_mixes_up_none(tmp_path):
    """As fetched from the hub: cards that say the same, folders of the same name, other rows."""
    import datasets

    card = (
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        "  - split: test\n    path: test-*.parquet\n---\n"
    )

    def put(repository: str, answer: str) -> None:
        folder = tmp_path / "datasets" / repository
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(card)
        pq.write_table(pa.table({"answer": [answer]}), folder / "test-0.parquet")
        sealed(folder, repository, kind="dataset")

    for answers in ({"cais/mmlu": "theirs", "lighteval/mmlu": "helm"}, {"cais/mmlu": "new"}):
        for repository, answer in answers.items():
            put(repository, answer)
        with mirror(tmp_path):
            for repository, answer in answers.items():
                rows = datasets.load_dataset(repository)["test"]
                assert rows[0]["answer"] == answer
            with pytest.raises(UserError, match=r"'org/absent'.*fetch_dataset"):
                datasets.load_dataset("org/absent")
