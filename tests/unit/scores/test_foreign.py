"""What lm-eval and lighteval wrote: read whole, checked by its items, refused in a sentence."""

import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.records import imported_scores, make_items, record_fields
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import write_record
from workflow_scripts.evaluation.names import hash_cluster
from workflow_scripts.scores.foreign.cells import ImportedCell, read_cells
from workflow_scripts.scores.foreign.imports import import_results, name_origins, read_folder
from workflow_scripts.scores.foreign.requests import import_request
from workflow_scripts.scores.tidy import collect_scores
from workflow_scripts.settings.load import load_settings

DATE = "2026-01-02T03-04-05.000006"
NAMES = {"lm_eval": {"rte": "rte", "cola": "cola"}, "lighteval": {"mmlu": "mmlu_helm"}}
TASKS = {
    name: {"metric": metric, "shots": [0], "cluster": ["question"] if name == "rte" else []}
    for name, metric in (("rte", "acc"), ("cola", "mcc"), ("mmlu_helm", "em"))
}
GOLDS, ANSWERS = (0, 1, 1, 0), ((-1.0, -2.0), (-1.0, -2.0), (-3.0, -0.5), (-0.1, -4.0))


def sample(at: int) -> dict:
    likely, gold = ANSWERS[at], GOLDS[at]
    return {
        "doc_id": at,
        "doc": {"question": f"q{at}"},
        "target": gold,
        "arguments": {
            f"gen_args_{one}": {"arg_0": f"q{at}", "arg_1": text}
            for one, text in enumerate((" True", " False"))
        },
        "resps": [[[str(ll), "False"]] for ll in likely],
        "filtered_resps": [[str(ll), "False"] for ll in likely],
        "filter": "none",
        "metrics": ["acc"],
        "prompt_hash": f"{at}" * 64,
        "acc": float((likely[1] > likely[0]) == gold),
    }


def results(**changes) -> dict:
    return {
        "results": {"rte": {"alias": "rte", "acc,none": 0.75, "acc_stderr,none": 0.25}},
        "group_subtasks": {"rte": []},
        "n-shot": {"rte": 0},
        "n-samples": {"rte": {"original": 4, "effective": 4}},
        "config": {"model_dtype": "torch.float32"},
        "model_name": "org/net",
        "lm_eval_version": "0.4.13",
    } | changes


@pytest.fixture
def folder(tmp_path):
    """Write results of lm-eval with its samples, and return the folder."""

    def write(content=None, samples=range(4), change=lambda one: one):
        place = tmp_path / "theirs/net"
        place.mkdir(parents=True)
        (place / f"results_{DATE}.json").write_text(json.dumps(content or results()))
        lines = [json.dumps(change(sample(at))) for at in samples]
        if lines:
            (place / f"samples_rte_{DATE}.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "theirs"

    return write


def read(folder, target):
    request = {"name": "theirs", "folder": str(folder), "names": NAMES, "tasks": TASKS}
    import_results({}, request, {"folder": target})
    return target


def test_results_with_samples_have_scores_and_items_that_are_paired_with_ours(folder, tmp_path):
    out = read(folder(), tmp_path / "out")
    (cell,) = read_cells(out)
    assert (cell.study, cell.file) == ("theirs", f"net/results_{DATE}.json")
    assert (cell.model, cell.dtype, cell.commit) == ("org/net", "float32", None)
    (score,) = cell.scores
    assert (score.name, score.value, score.stderr, score.n) == ("acc", 0.75, 0.25, 4)
    assert (score.best_constant, score.chance) == (0.5, 0.5)
    items = read_items(out / cell.items.file).to_pydict()
    assert items["gold"] == ["0", "1", "1", "0"] and items["prediction"] == ["0", "0", "1", "0"]
    assert items["correct"] == [True, False, True, True]
    assert items["loglikelihoods"] == [list(one) for one in ANSWERS]
    row = imported_scores(out)[["study", "model", "task", "value", "n", "floor"]]
    assert row.to_numpy().tolist() == [["theirs", "org/net", "rte", 0.75, 4, 0.5]]
    ours = [
        replace(
            one,
            item=f"rte/{at}",
            scores={"acc": right},
            cluster=hash_cluster({"question": f"q{at}"}, ["question"]),
        )
        for at, (one, right) in enumerate(zip(make_items(), (1.0, 0.0, 1.0, 1.0), strict=True))
    ]
    path = tmp_path / "own.json"
    write_record(path, ours, **record_fields(model="org/net", task="rte", value=0.75))
    files = {name: tmp_path / f"{name}.parquet" for name in ("scores", "errors")}
    collect_scores({"records": [path], "imports": [out]}, {}, files)
    first, second = pd.read_parquet(files["errors"])["shared"]
    assert first == pytest.approx(second) and abs(first).sum() > 0


def test_a_folder_is_read_again_when_a_file_in_it_changes(here):
    (here / "theirs").mkdir()
    settings = load_settings(merged({"imports": ["theirs"]}), ROOT)
    before = import_request(settings, "theirs")
    assert before["names"]["lighteval"]["mmlu"] == "mmlu_helm"
    assert before["tasks"]["cola"]["metric"] == "mcc"
    (here / "theirs/results_1.json").write_text("{}")
    assert import_request(settings, "theirs")["stamp"] != before["stamp"]


def test_a_group_has_the_scores_of_its_members_and_their_mean(tmp_path):
    content = results(
        results={
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.004, "brier_score_stderr,none": "N/A"},
            "mmlu_anatomy": {"acc,none": 0.5, "acc_stderr,none": 0.01},
            "mmlu_law": {"acc,none": 0.8, "acc_stderr,none": 0.01},
        },
        group_subtasks={"mmlu": ["mmlu_anatomy", "mmlu_law"]},
        model_name="/fast/models/Yi-6B/",
    )
    content["n-shot"] = {"mmlu_anatomy": 5, "mmlu_law": 5}
    content["n-samples"] = {name: {"effective": 4} for name in content["n-shot"]}
    (tmp_path / "mmlu.json").write_text(json.dumps(content))
    ((cell, _),) = read_folder(tmp_path, NAMES, TASKS)
    assert (cell.model, cell.task, cell.shots) == ("local/fast.models.Yi-6B", "mmlu", 5)
    assert [(one.name, one.subset, one.value) for one in cell.scores] == [
        ("acc", None, 0.6),
        ("acc", "mmlu_anatomy", 0.5),
        ("acc", "mmlu_law", 0.8),
        ("acc_macro", None, 0.65),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"samples": range(3)}, "of 4 items, and 3 are there"),
        ({"content": results(results={"rte": {"acc,none": 0.5}})}, r"its items is 0\.75"),
        ({"change": lambda one: {"doc_id": one["doc_id"]}}, "cannot be read"),
        (
            {"content": results(results={"rte": {"acc,none": 1.5}}), "samples": ()},
            r"rte: acc is 1\.5; expected 0 to 1",
        ),
        ({"content": results(results={"rte": {"acc,none": "N/A"}})}, "rte has no number"),
        ({"content": {"hidden_size": 3}}, "is no result file of lm-eval"),
        ({"content": results(**{"n-shot": {}})}, "cannot be read"),
    ],
)
def test_a_broken_foreign_or_doctored_file_is_named_and_nothing_is_taken(
    folder, tmp_path, given, said
):
    with pytest.raises(UserError, match=said) as caught:
        read(folder(**given), tmp_path / "out")
    assert len(caught.value.problems) == 1 and not (tmp_path / "out").exists()


def test_a_half_written_file_a_second_cell_and_an_empty_folder_are_refused(folder, tmp_path):
    where = folder()
    path = where / "net" / f"results_{DATE}.json"
    whole = path.read_text()
    for other, said in (("{", "cannot be read"), (whole, r"org/net on rte is in .* too")):
        (where / "other.json").write_text(other)
        with pytest.raises(UserError, match=said):
            list(read_folder(where, NAMES, TASKS))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no file that ends in \.json"):
        list(read_folder(tmp_path / "empty", {}, {}))


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"shots": 0}, {"shots": 25}], ["theirs", "theirs (25-shot)"]),
        ([{"shots": 5}, {"shots": 25}], ["theirs (5-shot)", "theirs (25-shot)"]),
        ([{"dtype": "bfloat16"}, {"dtype": None}], ["theirs (bfloat16)", "theirs (dtype unknown)"]),
        ([{"commit": "f" * 40}, {"commit": "1" * 40}], ["theirs (fffffff)", "theirs (1111111)"]),
        ([{}, {"model": "org/other", "dtype": "bfloat16"}], ["theirs", "theirs"]),
    ],
)
def test_scores_of_one_model_and_task_are_told_apart_by_what_differs(changes, names):
    cell = {"file": "f", "harness": "lm_eval", "harness_version": None, "model": "org/net"}
    cell |= {"commit": None, "dtype": "float32", "task": "rte", "protocol": "direct", "shots": 0}
    cells = [ImportedCell(**cell | {"scores": ()} | change) for change in changes]
    assert name_origins("theirs", cells, TASKS) == names


def test_lighteval_s_results_and_details_become_one_task_with_subjects(tmp_path):
    root, model = tmp_path / "light", "org/net"
    scores = {"mmlu:anatomy|5": [1.0, 0.0], "mmlu:virology|5": [1.0, 1.0, 1.0, 0.0]}
    means = {key: {"em": sum(of) / len(of), "em_stderr": 0.1} for key, of in scores.items()}
    content = {
        "config_general": {"model_config": {"model_name": model, "dtype": "float32"}},
        "results": means | {"mmlu:_average|5": {"em": 0.6}, "all": {"em": 0.6}},
        "config_tasks": {key: {"name": key} for key in scores},
    }
    place, details = root / "results" / model, root / "details" / model / DATE
    place.mkdir(parents=True)
    details.mkdir(parents=True)
    (place / f"results_{DATE}.json").write_text(json.dumps(content))
    doc = {"choices": [" A", " B"], "gold_index": [1]}
    for key, of in scores.items():
        rows = [
            {
                "doc": doc | {"id": str(at), "query": f"q{at}"},
                "metric": {"em": one},
                "model_response": {"text": [" B" if one else " A"], "logprobs": []},
            }
            for at, one in enumerate(of)
        ]
        pq.write_table(pa.Table.from_pylist(rows), details / f"details_{key}_{DATE}.parquet")
    ((cell, items),) = read_folder(root, NAMES, TASKS)
    assert (cell.model, cell.task, cell.shots) == (model, "mmlu_helm", 5)
    assert [item.item for item in items][:3] == ["anatomy/0", "anatomy/1", "virology/0"]
    assert items[0].gold == "B" and items[0].prediction == "B"
    whole, *parts = cell.scores
    assert whole.value == pytest.approx(4 / 6) and whole.n == 6, "each question counts the same"
    assert {(one.subset, one.value, one.n) for one in parts} == {
        ("anatomy", 0.5, 2),
        ("virology", 0.75, 4),
    }
    (details / f"details_mmlu:anatomy|5_{DATE}.parquet").unlink()
    with pytest.raises(UserError, match="mmlu has parts without details"):
        list(read_folder(root, NAMES, TASKS))
