"""What lm-eval and lighteval wrote: read whole, held against itself, refused in a sentence."""

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
from workflow_scripts.evaluation.names import cluster_of
from workflow_scripts.scores.foreign import imports
from workflow_scripts.scores.foreign.cells import read_cells
from workflow_scripts.scores.foreign.requests import ImportRequest, import_request
from workflow_scripts.scores.tidy import collect_scores
from workflow_scripts.settings.load import load_settings
from workflow_scripts.studies.ranking.errors import label_models

DATE = "2026-01-02T03-04-05.000006"
NAMES = {"lm_eval": {"rte": "rte", "cola": "cola"}, "lighteval": {"mmlu": "mmlu_helm"}}
TASKS = {
    name: {"metric": metric, "shots": [0], "cluster": ["question"] if name == "rte" else []}
    for name, metric in (("rte", "acc"), ("cola", "mcc"), ("mmlu_helm", "em"))
}
GOLDS, ANSWERS = (0, 1, 1, 0), ((-1.0, -2.0), (-1.0, -2.0), (-3.0, -0.5), (-0.1, -4.0))


def asked(folder, **changes):
    fields = {"name": "theirs", "folder": str(folder), "stamp": "", "names": NAMES}
    return ImportRequest.of(fields | {"tasks": TASKS} | changes)


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
        "configs": {"rte": {"task": "rte", "doc_to_text": "{{q}}", "metadata": {"version": 1.0}}},
        "versions": {"rte": 1.0},
        "n-shot": {"rte": 0},
        "n-samples": {"rte": {"original": 4, "effective": 4}},
        "config": {
            "model_args": "pretrained=org/net,dtype=float32",
            "model_dtype": "torch.float32",
        },
        "lm_eval_version": "0.4.13",
    } | changes


@pytest.fixture
def folder(tmp_path):
    """Writes results of lm-eval with its samples, and gives the folder."""

    def write(of="net", content=None, samples=range(4), change=lambda one: one):
        place = tmp_path / "theirs" / of
        place.mkdir(parents=True)
        text = json.dumps(results() if content is None else content)
        (place / f"results_{DATE}.json").write_text(text)
        lines = [json.dumps(change(sample(at))) for at in samples]
        if lines:
            (place / f"samples_rte_{DATE}.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "theirs"

    return write


def refused(folder, said: str, tmp_path) -> None:
    target = tmp_path / "out"
    with pytest.raises(UserError, match=said) as caught:
        imports.import_results({}, asked(folder).as_params(), {"folder": target})
    assert len(caught.value.problems) == 1
    assert not target.exists(), "nothing is half taken"


def read(folder, tmp_path, **changes):
    """Import a folder and return what is written."""
    out = tmp_path / "out"
    imports.import_results({}, asked(folder, **changes).as_params(), {"folder": out})
    return out


def test_results_with_samples_have_scores_and_items(folder, tmp_path):
    out = read(folder(), tmp_path)
    (cell,) = read_cells(out)
    assert (cell.study, cell.file) == ("theirs", f"net/results_{DATE}.json")
    assert (cell.model, cell.dtype, cell.commit) == ("org/net", "float32", None)
    (score,) = cell.scores
    assert (score.name, score.value, score.stderr, score.n) == ("acc", 0.75, 0.25, 4)
    assert (score.best_constant, score.chance) == (0.5, 0.5)
    items = read_items(out / cell.items.file).to_pydict()
    assert items["item"] == [f"rte/{at}" for at in range(4)]
    assert items["gold"] == ["0", "1", "1", "0"] and items["prediction"] == ["0", "0", "1", "0"]
    assert len(set(items["cluster"])) == 4 and None not in items["cluster"]
    assert items["correct"] == [True, False, True, True]
    assert items["loglikelihoods"] == [list(one) for one in ANSWERS]
    row = imported_scores(out)[["study", "model", "task", "value", "n", "floor"]]
    assert row.to_numpy().tolist() == [["theirs", "org/net", "rte", 0.75, 4, 0.5]]


def test_imported_items_are_paired_with_ours(folder, tmp_path):
    """The same answers to the same items move two scores together, whoever measured them."""
    out = read(folder(), tmp_path)
    files = {name: tmp_path / f"{name}.parquet" for name in ("scores", "errors")}
    ours = [
        replace(
            one,
            item=f"rte/{at}",
            scores={"acc": right},
            cluster=cluster_of({"question": f"q{at}"}, ["question"]),
        )
        for at, (one, right) in enumerate(zip(make_items(), (1.0, 0.0, 1.0, 1.0), strict=True))
    ]
    path = tmp_path / "own.json"
    write_record(path, ours, **record_fields(model="org/net", task="rte", value=0.75))
    collect_scores({"records": [path], "imports": [out]}, {}, files)
    assert set(pd.read_parquet(files["scores"])["study"]) == {"harmony", "theirs"}
    errors = pd.read_parquet(files["errors"])
    assert label_models(errors).tolist() == ["org/net", "org/net [theirs]"]
    first, second = errors["shared"]
    assert first == pytest.approx(second) and abs(first).sum() > 0


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (
            ["a/theirs", "b/theirs"],
            "imports: the scores of 'b/theirs' would be called 'theirs', as are",
        ),
        (["a/harmony"], "imports: the scores of 'a/harmony' would be called 'harmony', as are"),
        (["c"], "imports[0] is 'c': expected a folder"),
    ],
)
def test_folders_of_imports_are_there_and_have_names_of_their_own(here, folders, said):
    for name in ("a/theirs", "b/theirs", "a/harmony"):
        (here / name).mkdir(parents=True)
    with pytest.raises(UserError) as caught:
        load_settings(merged({"imports": folders}), ROOT)
    (problem,) = caught.value.problems
    assert problem.startswith(said)


def test_a_folder_is_read_again_when_a_file_in_it_changes(here):
    (here / "theirs").mkdir()
    settings = load_settings(merged({"imports": ["theirs"]}), ROOT)
    before = import_request(settings, "theirs")
    assert before.names["lighteval"]["mmlu"] == "mmlu_helm" and before.tasks["cola"].metric == "mcc"
    (here / "theirs/results_1.json").write_text("{}")
    assert import_request(settings, "theirs").stamp != before.stamp


def test_a_folder_of_links_to_several_folders_is_read_as_if_they_lay_in_it(
    folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    theirs, all_of_them = folder(), tmp_path / "all"
    all_of_them.mkdir()
    (all_of_them / "colleague").symlink_to(theirs)
    (theirs / "net" / "back").symlink_to(all_of_them)  # a link further down is not gone into
    ((cell, _, _),) = imports.read_folder(all_of_them, asked(all_of_them))
    file = all_of_them / "colleague/net" / f"results_{DATE}.json"
    assert cell.file == str(file)
    settings = load_settings(merged({"imports": ["all"]}), ROOT)
    before = import_request(settings, "all").stamp
    file.write_text(file.read_text() + " ")
    assert import_request(settings, "all").stamp != before, "a file behind a link was changed"
    (all_of_them / "moved").symlink_to(tmp_path / "nowhere")
    assert import_request(settings, "all").stamp
    refused(all_of_them, "moved cannot be read as JSON .*No such file", tmp_path)


def test_format_of_2024_has_groups_without_items(tmp_path):
    place = tmp_path / "old"
    place.mkdir()
    content = results(
        results={
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.004, "brier_score_stderr,none": "N/A"},
            "mmlu_stem": {"acc,none": 0.5},
            "mmlu_anatomy": {"acc,none": 0.5, "acc_stderr,none": 0.01, "alias": " - anatomy"},
        },
        group_subtasks={"mmlu": ["mmlu_stem"], "mmlu_stem": ["mmlu_anatomy"]},
        configs={"mmlu_anatomy": {"task": "mmlu_anatomy"}},
        config={"model_args": "pretrained=/fast/models/Yi-6B/,trust_remote_code=True"},
        git_hash="ea4fe0c",
    )
    content["n-shot"] = {"mmlu": 5, "mmlu_anatomy": 5}
    for gone in ("n-samples", "lm_eval_version"):
        del content[gone]

    def read_tasks():
        (place / "yi-6b-mmlu.json").write_text(json.dumps(content))
        return [cell for cell, _, _ in imports.read_folder(place, asked(place))]

    (cell,) = read_tasks()
    assert (cell.task, cell.protocol, cell.shots, cell.items) == ("mmlu", "few_shot", 5, None)
    assert (cell.model, cell.harness_version) == ("local/fast.models.Yi-6B", "ea4fe0c")
    scores = [(one.name, one.subset, one.value, one.stderr, one.n) for one in cell.scores]
    assert scores == [
        ("acc", None, 0.6, 0.004, None),
        ("acc", "mmlu_anatomy", 0.5, 0.01, None),
        ("acc_macro", None, 0.5, 0.01, None),  # each member counts the same
    ]
    # Later versions have the scores of groups apart; a group without one only lists its members.
    content["groups"] = {"mmlu": content["results"].pop("mmlu")}
    assert [cell.task for cell in read_tasks()] == ["mmlu"]
    del content["groups"]
    content["results"] = {"mmlu": {"alias": "mmlu"}, "mmlu_anatomy": {"acc,none": 0.5}}
    assert [cell.task for cell in read_tasks()] == ["mmlu_anatomy"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"samples": range(3)}, "has 3 items; expected 4, as the file says"),
        (
            {"content": results(results={"rte": {"acc,none": 0.5}})},
            r"the mean of acc over its items is 0\.75; expected 0\.5",
        ),
        ({"change": lambda one: one | {"doc_id": 0}}, "has 1 items; expected 4"),
        ({"change": lambda one: {"doc_id": one["doc_id"]}}, "is no whole file of samples"),
        (
            {"content": results(results={"rte": {"acc,none": 1.5}}), "samples": ()},
            r"rte: acc is 1\.5; expected 0 to 1",
        ),
        (
            {"content": results(results={"rte": {"acc,none": "N/A"}}), "samples": ()},
            r"results\.rte\.acc,none is 'N/A'; expected a number",
        ),
        ({"content": results(results={}), "samples": ()}, "holds no score"),
        (
            {"content": {"hidden_size": 3}, "samples": ()},
            "is no result file of lm-eval, lighteval or Every",
        ),
        ({"content": [], "samples": ()}, "is no result file"),
        ({"content": results(config={}), "samples": ()}, "names no model"),
        (
            {"content": results(**{"n-shot": {}}), "samples": ()},
            "n-shot of rte is None; expected one number",
        ),
    ],
)
def test_a_broken_foreign_or_doctored_file_is_one_sentence_and_nothing_is_taken(
    folder, tmp_path, given, said
):
    refused(folder(**given), said, tmp_path)


def test_a_file_that_was_cut_a_cell_that_stands_twice_and_an_empty_folder(folder, tmp_path):
    where = folder()
    path = where / "net" / f"results_{DATE}.json"
    whole = path.read_text()
    path.write_text(whole[:-9])
    refused(where, "cannot be read as JSON", tmp_path)
    path.write_text(whole)
    folder(of="again", samples=())
    refused(where, r"org/net on rte \(direct\) stands in .*again.* too", tmp_path)
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no file that ends in .json", tmp_path)


def test_a_task_that_was_asked_with_several_numbers_of_examples_is_kept_apart(folder, tmp_path):
    """That which this config asks with goes by the folder's name, or else what is usual in the folder."""
    for of, shots in (("a", 5), ("b", 25), ("c", 0)):
        content = results(
            **{"n-shot": {"rte": shots}},
            config={"model_args": "pretrained=org/net,dtype=float32"},
        )
        where = folder(of=of, content=content)
    other = results(**{"n-shot": {"rte": 5}}, config={"model_args": "pretrained=org/other"})
    folder(of="d", content=other)

    def named(shots):
        tasks = TASKS | {"rte": TASKS["rte"] | {"shots": shots}}
        cells = read_cells(read(where, tmp_path, tasks=tasks))
        return {(cell.model, cell.shots): cell.study for cell in cells if cell.shots}

    net, other = "org/net", ("org/other", 5)
    assert named([25]) == {(net, 5): "theirs (5-shot)", (net, 25): "theirs", other: "theirs"}
    assert named([]) == {(net, 5): "theirs", (net, 25): "theirs (25-shot)", other: "theirs"}
    folder(of="again", content=content | {"n-shot": {"rte": 25}})
    refused(where, r"org/net on rte \(few_shot\) stands in .* too", tmp_path / "refused")


def test_a_model_that_was_measured_in_several_number_formats_or_commits_is_kept_apart(
    folder, tmp_path
):
    net, other = "pretrained=org/net", "pretrained=org/other"
    ways = {
        "a": (net, "bfloat16", "f" * 40),
        "b": (net, "float32", "f" * 40),
        "c": (net, "float32", "0123456789" * 4),
        "d": (other, "float32", "f" * 40),
        "e": (net, "float32", ""),
        "f": (net, "", "f" * 40),
    }
    for of, (model, dtype, commit) in ways.items():
        config = {"model_args": model, "model_dtype": dtype, "model_sha": commit}
        where = folder(of=of, content=results(config=config))
    assert {one.file[0]: one.study for one in read_cells(read(where, tmp_path))} == {
        "a": "theirs (bfloat16)",
        "b": "theirs",
        "c": "theirs (0123456)",
        "d": "theirs",
        "e": "theirs (commit not said)",
        "f": "theirs (format not said)",
    }


def test_a_score_of_no_use_to_us_stops_no_other(folder, tmp_path):
    """Of a task that we do not know a metric may be percents, and one that we do not report no number."""
    content = results()
    content["results"]["rte"] |= {"mcc,none": "N/A"}
    content["results"]["squad"] = {"f1,none": 63.2}
    content["configs"]["squad"] = {"task": "squad"}
    content["n-shot"]["squad"] = 0
    cells = read_cells(read(folder(content=content), tmp_path))
    found = {(cell.task, one.name): one.value for cell in cells for one in cell.scores}
    assert found == {("rte", "acc"): 0.75, ("squad", "f1"): 63.2}
    content["results"]["rte"]["acc,none"] = "N/A"
    other = folder(of="other", content=content)
    refused(other, "results.rte.acc,none is 'N/A'; expected a number", tmp_path / "refused")


def test_lighteval_s_results_and_details_become_one_task_with_subjects(tmp_path):
    root, model = tmp_path / "light", "org/net"
    scores = {"mmlu:anatomy|5": [1.0, 0.0], "mmlu:virology|5": [1.0, 1.0, 1.0, 0.0]}
    found = {key: {"em": sum(of) / len(of), "em_stderr": 0.1} for key, of in scores.items()}
    content = {
        "config_general": {"model_config": {"model_name": model, "dtype": "float32"}},
        "results": found | {"mmlu:_average|5": {"em": 0.6}, "all": {"em": 0.6}},
        "config_tasks": {key: {"name": key} for key in scores},
    }
    place, details = root / "results" / model, root / "details" / model / DATE
    place.mkdir(parents=True)
    details.mkdir(parents=True)
    (place / f"results_{DATE}.json").write_text(json.dumps(content))
    for key, of in scores.items():
        rows = [
            {
                "doc": {
                    "id": str(at),
                    "query": f"q{at}",
                    "choices": [" A", " B"],
                    "gold_index": [1],
                },
                "metric": {"em": one},
                "model_response": {"text": [" B" if one else " A"], "logprobs": []},
            }
            for at, one in enumerate(of)
        ]
        pq.write_table(pa.Table.from_pylist(rows), details / f"details_{key}_{DATE}.parquet")
    ((cell, items, _),) = imports.read_folder(root, asked(root))
    assert (cell.model, cell.task, cell.shots) == (model, "mmlu_helm", 5)
    assert [item.item for item in items][:3] == ["anatomy/0", "anatomy/1", "virology/0"]
    assert items[0].gold == "B" and items[0].prediction == "B"
    whole, *parts = cell.scores
    assert whole.value == pytest.approx(4 / 6) and whole.n == 6, "each question counts the same"
    assert {(one.subset, one.value, one.n) for one in parts} == {
        ("anatomy", 0.5, 2),
        ("virology", 0.75, 4),
    }
    apart = imports.read_folder(root, asked(root, names={}))
    assert [other.task for other, _, _ in apart] == ["mmlu:anatomy", "mmlu:virology"]
    content["results"]["mmlu:anatomy|5"]["em"] = 1.0
    content["results"]["mmlu:virology|5"]["em"] = 0.5  # the whole comes out the same
    (place / f"results_{DATE}.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"the mean of em of anatomy over its items is 0\.5"):
        imports.read_folder(root, asked(root))
    (details / f"details_mmlu:anatomy|5_{DATE}.parquet").unlink()
    with pytest.raises(UserError, match="mmlu has 2 parts and no details of all of them"):
        imports.read_folder(root, asked(root))
