"""Results that lm-eval and lighteval wrote: read whole, checked by their items, wrong ones refused."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.records import read_imported_scores
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.evaluation.names import hash_cluster
from workflow_scripts.scores.foreign.cells import ImportedCell, read_cells
from workflow_scripts.scores.foreign.imports import import_results, name_origins, read_folder
from workflow_scripts.scores.foreign.requests import build_import_request
from workflow_scripts.settings.load import load_settings

DATE = "2026-01-02T03-04-05.000006"
NAMES = {"lm_eval": {"rte": "rte"}, "lighteval": {"mmlu": "mmlu_helm"}}
TASKS = {
    "rte": {"metric": "acc", "cluster": ["question"]},
    "mmlu_helm": {"metric": "em", "cluster": []},
}
GOLDS, ANSWERS = (0, 1, 1, 0), ((-1.0, -2.0), (-1.0, -2.0), (-3.0, -0.5), (-0.1, -4.0))


def make_sample(number: int) -> dict:
    answers, gold = ANSWERS[number], GOLDS[number]
    return {
        "doc_id": number,
        "doc": {"question": f"q{number}"},
        "target": gold,
        "arguments": {
            f"gen_args_{choice}": {"arg_0": f"q{number}", "arg_1": text}
            for choice, text in enumerate((" True", " False"))
        },
        "filtered_resps": [[str(likelihood), "False"] for likelihood in answers],
        "filter": "none",
        "metrics": ["acc"],
        "prompt_hash": f"{number}" * 64,
        "acc": float((answers[1] > answers[0]) == gold),
    }


def make_results(scores: dict | None = None, **changes) -> dict:
    return {
        "results": {"rte": scores or {"alias": "rte", "acc,none": 0.75, "acc_stderr,none": 0.25}},
        "n-shot": {"rte": 0},
        "n-samples": {"rte": {"original": 4, "effective": 4}},
        "config": {"model_dtype": "torch.float32"},
        "model_name": "org/net",
    } | changes


@pytest.fixture
def write(tmp_path):
    """Write results of lm-eval with its samples, and return the folder."""

    def write(content=None, samples=4, change=lambda sample: sample):
        folder = tmp_path / "other/net"
        folder.mkdir(parents=True)
        (folder / f"results_{DATE}.json").write_text(json.dumps(content or make_results()))
        lines = [json.dumps(change(make_sample(number))) for number in range(samples)]
        if lines:
            (folder / f"samples_rte_{DATE}.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "other"

    return write


def run_import(folder, target):
    request = {"name": "other", "folder": str(folder), "names": NAMES, "tasks": TASKS}
    import_results({}, request, {"folder": target})
    return target


def test_lm_eval_scores_and_items(write, tmp_path):
    target = run_import(write(), tmp_path / "out")
    (cell,) = read_cells(target)
    assert cell.model_dump(include={"study", "file", "model", "dtype", "commit"}) == {
        "study": "other",
        "file": f"net/results_{DATE}.json",
        "model": "org/net",
        "dtype": "float32",
        "commit": None,
    }
    items = read_items(target / cell.items.file).to_pydict()
    assert (items["gold"], items["prediction"]) == (["0", "1", "1", "0"], ["0", "0", "1", "0"])
    assert items["correct"] == [True, False, True, True]
    assert items["loglikelihoods"] == list(map(list, ANSWERS))
    assert items["cluster"][1] == hash_cluster({"question": "q1"}, ["question"])
    row = read_imported_scores(target)[
        ["study", "task", "value", "stderr", "n", "baseline", "chance"]
    ]
    assert row.to_numpy().tolist() == [["other", "rte", 0.75, 0.25, 4, 0.5, 0.5]]


def test_changed_folder_changes_import_request(here):
    (here / "other").mkdir()
    settings = load_settings(merged({"imports": ["other"]}), ROOT)
    before = build_import_request(settings, "other")
    assert before["names"]["lighteval"]["mmlu"] == "mmlu_helm"
    assert before["tasks"]["cola"]["metric"] == "mcc"
    (here / "other/results_1.json").write_text("{}")
    assert build_import_request(settings, "other")["stamp"] != before["stamp"]


def test_lm_eval_group_score(tmp_path):
    members = ["mmlu_anatomy", "mmlu_law"]
    content = make_results(
        results={
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.004, "brier_score_stderr,none": "N/A"},
            **{member: {"acc,none": 0.5} for member in members},
        },
        group_subtasks={"mmlu": members},
        model_name="/fast/models/Yi-6B/",
    )
    content["n-shot"] = dict.fromkeys(members, 5)
    content["n-samples"] = {member: {"effective": 4} for member in members}
    (tmp_path / "mmlu.json").write_text(json.dumps(content))
    ((cell, _),) = read_folder(tmp_path, NAMES, TASKS)
    assert (cell.model, cell.task, cell.shots) == ("local/fast.models.Yi-6B", "mmlu", 5)
    (score,) = cell.scores
    assert (score.name, score.value, score.stderr, score.n) == ("acc", 0.6, 0.004, 8)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"samples": 3}, "of 4 items, and 3 are there"),
        ({"content": make_results({"acc,none": 0.5})}, r"its items is 0\.75"),
        ({"change": lambda sample: {"doc_id": 0}}, "cannot be read"),
        ({"content": make_results({"acc,none": 1.5}), "samples": 0}, "expected 0 to 1"),
        ({"content": make_results({"acc,none": "N/A"})}, "rte has no number"),
        ({"content": {"hidden_size": 3}}, "is no result file of lm-eval"),
    ],
)
def test_broken_results_are_refused(write, tmp_path, files, message):
    with pytest.raises(UserError, match=message):
        run_import(write(**files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_incomplete_folders_are_refused(write, tmp_path):
    folder = write()
    whole = (folder / "net" / f"results_{DATE}.json").read_text()
    for content, message in (("{", "cannot be read"), (whole, r"org/net on rte is in .* too")):
        (folder / "other.json").write_text(content)
        with pytest.raises(UserError, match=message):
            list(read_folder(folder, NAMES, TASKS))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no file"):
        list(read_folder(tmp_path / "empty", {}, {}))


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({}, {"task": "cola"}, ["other", "other"]),
        ({}, {"study": "suite"}, ["other", "other (suite)"]),
        (
            {"commit": "f" * 40},
            {"dtype": None},
            ["other (float32, fffffff)", "other (dtype unknown, commit unknown)"],
        ),
        ({}, {"model": "org/other", "dtype": "bfloat16"}, ["other", "other"]),
    ],
)
def test_different_origins_have_different_names(first, second, names):
    fields = {
        "file": "f",
        "harness": "lm_eval",
        "harness_version": None,
        "model": "org/net",
        "scores": (),
    }
    fields |= {"task": "rte", "protocol": "direct", "shots": 0, "commit": None, "dtype": "float32"}
    cells = [ImportedCell(**fields | changes) for changes in (first, second)]
    assert [cell.study for cell in name_origins("other", cells)] == names


def test_lighteval_subjects_become_one_task(tmp_path):
    scores = {"mmlu:anatomy|5": [1.0, 0.0], "mmlu:virology|5": [1.0, 1.0, 1.0, 0.0]}
    means = {key: {"em": sum(part) / len(part), "em_stderr": 0.1} for key, part in scores.items()}
    content = {
        "config_general": {"model_config": {"model_name": "org/net", "dtype": "float32"}},
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
    ((cell, items),) = read_folder(tmp_path, NAMES, TASKS)
    assert (cell.model, cell.task, cell.shots) == ("org/net", "mmlu_helm", 5)
    assert [item.item for item in items][:3] == ["anatomy/0", "anatomy/1", "virology/0"]
    assert (items[0].gold, items[0].prediction, items[0].subset) == ("B", "B", "anatomy")
    (score,) = cell.scores
    assert (score.value, score.n) == (pytest.approx(4 / 6), 6), "each question counts the same"
    assert score.stderr == pytest.approx(0.1 * (1 / 9 + 4 / 9) ** 0.5)
    (details / f"details_mmlu:anatomy|5_{DATE}.parquet").unlink()
    with pytest.raises(UserError, match="mmlu has parts without details"):
        list(read_folder(tmp_path, NAMES, TASKS))
