"""Test importing results of lm-eval and lighteval: scores are checked against items, and errors are rejected."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.records import collect, write_lm_eval_results
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.names import hash_cluster
from workflow_scripts.scores.foreign.result_folders import read_folder

DATE = "2026-01-02T03-04-05.000006"
NAMES = {"lm_eval": {"rte": "rte"}, "lighteval": {"mmlu": "mmlu_helm"}}
TASKS = {"rte": {"metric": "acc", "cluster": ["question"]}}


@pytest.fixture
def folder(tmp_path):
    """Write lm-eval results with seven of ten answers correct."""
    write_lm_eval_results(tmp_path / "other/net", "org/net", "rte", 7)
    return tmp_path / "other"


def read(folder):
    return list(read_folder(folder, NAMES, TASKS))


def test_lm_eval_scores_and_items(folder):
    ((cell, items),) = read(folder)
    assert (cell.model, cell.dtype, cell.commit) == ("org/net", "bfloat16", None)
    assert [item.gold for item in items] == ["0", "1"] * 5
    assert "".join(item.prediction for item in items) == "0101010010"
    assert items[1].cluster == hash_cluster({"question": "q1"}, ["question"])
    scores, errors = collect(folder=folder)
    row = scores[["value", "stderr", "n", "baseline", "chance"]]
    assert row.to_numpy().tolist() == [[0.7, 0.1, 10, 0.5, 0.5]]
    assert errors["own"].item() + sum(errors["shared"].item()) > 0


def test_lm_eval_group_score(tmp_path):
    members = ["mmlu_anatomy", "mmlu_law"]
    content = {
        "results": {
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.004, "brier_score_stderr,none": "N/A"},
            **{member: {"acc,none": 0.5} for member in members},
        },
        "group_subtasks": {"mmlu": members},
        "n-shot": dict.fromkeys(members, 5),
        "n-samples": {member: {"effective": 4} for member in members},
        "config": {},
        "lm_eval_version": "0.4.13",
        "model_name": "/fast/models/Yi-6B/",
    }
    (tmp_path / "mmlu.json").write_text(json.dumps(content))
    ((cell, _),) = read(tmp_path)
    assert (cell.model, cell.task, cell.shots) == ("local/fast.models.Yi-6B", "mmlu", 5)
    (score,) = cell.scores
    assert (score.name, score.value, score.stderr, score.n) == ("acc", 0.6, 0.004, 8)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("samples_rte_rte.jsonl", '"doc_id": 9', '"doc_id": 8', "n = 10, but there are 9 items"),
        ("results_rte.json", "0.7", "70.0", r"acc is 70; expected 0 to 1"),
        ("samples_rte_rte.jsonl", "doc_id", "id", "cannot be read"),
        ("results_rte.json", "0.7", '"N/A"', "at least 1 item"),
        ("results_rte.json", "n-shot", "shots", "is not a result file of lm-eval"),
    ],
)
def test_broken_results_are_refused(folder, file, old, new, message):
    path = folder / "net" / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=message):
        read(folder)


def test_incomplete_folders_are_refused(folder):
    complete = (folder / "net/results_rte.json").read_text()
    for content, message in (("{", "cannot be read"), (complete, r"org/net on rte is in .* too")):
        (folder / "other.json").write_text(content)
        with pytest.raises(UserError, match=message):
            read(folder)


def test_lighteval_subjects_become_one_task(tmp_path):
    scores = {"mmlu:anatomy|5": [1.0, 0.0], "mmlu:virology|5": [1.0, 1.0, 1.0, 0.0]}
    means = {key: {"em": sum(part) / len(part), "em_stderr": 0.1} for key, part in scores.items()}
    content = {
        "config_general": {"lighteval_sha": "?", "model_config": {"model_name": "org/net"}},
        "results": means | {"mmlu:_average|5": {"em": 0.6}, "all": {"em": 0.6}},
        "config_tasks": {},
    }
    folder, details = tmp_path / "results/org/net", tmp_path / "details/org/net" / DATE
    folder.mkdir(parents=True)
    details.mkdir(parents=True)
    (folder / f"results_{DATE}.json").write_text(json.dumps(content))
    doc = {"choices": [" A", " B"], "gold_index": [1], "query": "q"}
    for key, part in scores.items():
        rows = [
            {
                "doc": doc | {"id": str(number)},
                "metric": {"em": score},
                "model_response": {"text": [" B" if score else " A"], "logprobs": []},
            }
            for number, score in enumerate(part)
        ]
        pq.write_table(pa.Table.from_pylist(rows), details / f"details_{key}_{DATE}.parquet")
    ((cell, items),) = read(tmp_path)
    assert (cell.model, cell.task, cell.shots) == ("org/net", "mmlu_helm", 5)
    assert [item.item for item in items][:3] == ["anatomy/0", "anatomy/1", "virology/0"]
    assert (items[0].gold, items[0].prediction, items[0].subset) == ("B", "B", "anatomy")
    (score,) = cell.scores
    assert (score.value, score.n) == (pytest.approx(4 / 6), 6), "each question counts the same"
    assert score.stderr == pytest.approx(0.1 * (1 / 9 + 4 / 9) ** 0.5)
    (details / f"details_mmlu:anatomy|5_{DATE}.parquet").unlink()
    with pytest.raises(UserError, match="mmlu has parts without details"):
        read(tmp_path)
