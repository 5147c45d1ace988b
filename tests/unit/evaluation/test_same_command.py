"""The commands that records give others, run as they stand by the harnesses' own command lines."""

import shlex
import sys

import pytest

from tests.cells import cell
from tests.processes import python
from tests.records import TRAINED, make_items, plain_import, record_fields
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record, write_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import _manager
from workflow_scripts.scores.foreign.definitions import differences
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.scores.foreign.requests import import_request
from workflow_scripts.scores.same_command import MOST_NAMED, same_command
from workflow_scripts.settings.load import load_settings

MODEL = "miniature/Pythia-0.1M"


@pytest.mark.slow
def test_three_commands_find_what_their_records_have(world, model_manifest, tmp_path, monkeypatch):
    """A choice on all items, examples and a draw of items, and an answer that is generated.

    In the miniature world the names that a command has are of folders, and `mirror` has the data.
    """
    import lm_eval.tasks
    from lm_eval.__main__ import cli_evaluate

    asked = {
        "mnli": cell("mnli", "acc"),
        "arc_easy": cell("arc_easy", "acc_norm", shots=2, max_test_items=5, protocol="few_shot"),
        "gsm8k": cell(
            "gsm8k", "exact_match,flexible-extract", shots=1, max_test_items=3, protocol="few_shot"
        ),
    }
    records = {
        task: evaluate_direct(model_manifest, world, tmp_path / f"{task}.json", request)
        for task, request in asked.items()
    }
    # lm-eval would read its 14,000 files of tasks anew for each command.
    manager = _manager(list(asked))
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", lambda **_: manager)
    monkeypatch.chdir(world / "models")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for task, record in records.items():
        out = tmp_path / f"{task}-again"
        found = same_command(tmp_path / f"{task}.json", record)
        words = shlex.split(found.line, comments=True)
        assert f"lm-eval {record.task.harness_version}" in found.said
        assert f"{record.task.dataset} at {record.task.dataset_commit}" in found.said
        assert ("--samples" in words) == (task != "mnli")
        monkeypatch.setattr(sys, "argv", [*words, "--output_path", str(out), "--log_samples"])
        with mirror(world):
            cli_evaluate()
        (again,) = read_folder(out, plain_import(out))
        assert (again.model, again.shots, again.n) == (MODEL, record.task.shots, record.items.n)
        assert {name: one.value for name, one in again.scores.items()} == pytest.approx(
            {one.name: one.value for one in record.metrics}
        )
        items = read_items(tmp_path / record.items.file).to_pylist()
        assert {item.item: item.scores for item in again.items} == {
            item["item"]: dict(item["scores"]) for item in items
        }


OF_LIGHTEVAL = """
import os, runpy, shlex, sys
from pathlib import Path

import torch

torch.set_num_threads(1)
from workflow_scripts.evaluation import mmlu
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.scores.same_command import same_command
from workflow_scripts.settings.compute import Compute

manifest, hub, out = map(Path, sys.argv[1:])
asked = MmluRequest(shots=5, prompt="installed", max_items_per_subject=2, seed=0,
                    compute=Compute(device="cpu", batch_size=4))
record = mmlu.evaluate_mmlu(manifest, hub, out / "ours.json", asked)
words = shlex.split(same_command(out / "ours.json", record).line, comments=True)
(here := out / "here").mkdir()
for one in (*(hub / "models").iterdir(), *(hub / "datasets").iterdir()):
    (here / one.name).symlink_to(one)
os.chdir(here)
sys.argv = ["chunked", *words, "--output-dir", str(out / "theirs"), "--save-details"]
runpy.run_module("workflow_scripts.chunked", run_name="__main__")
"""


@pytest.mark.slow
def test_the_command_of_mmlu_finds_the_same_answers(world, model_manifest, tmp_path):
    """As docs/sharing.md has it run: lighteval alone stops at tasks that the pinned versions cannot import."""
    home = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
    python(OF_LIGHTEVAL, model_manifest, world, tmp_path, **home)
    record, folder = read_record(tmp_path / "ours.json"), tmp_path / "theirs"
    request = import_request(load_settings(merged({"imports": [str(folder)]}), ROOT), "theirs")
    (theirs,) = read_folder(folder, request)
    assert not differences(theirs, request.tasks["mmlu_helm"])
    assert (theirs.model, theirs.task, theirs.shots) == (MODEL, record.task.name, 5)
    assert theirs.n == record.items.n == 57 * 2
    ours = {(one.name, one.subset): one for one in record.metrics}
    for name, part, score in theirs.everything:
        assert score.value == pytest.approx(ours[name, part].value), part
        assert score.chance == pytest.approx(ours[name, part].chance)
    items = {item["item"]: item for item in read_items(tmp_path / "ours.parquet").to_pylist()}
    for item in theirs.items:
        own = items[item.item]
        assert (item.text, item.gold, item.correct) == (own["text"], own["gold"], own["correct"])


@pytest.fixture
def said(tmp_path):
    """Of the example of a record, changed, what is said in place of a command or behind it."""

    def of(n=4, **changes):
        fields = record_fields(n=n, value=1.0)
        for part, values in changes.items():
            known = fields[part]
            fields[part] = (
                values
                if known is None or isinstance(known, dict)
                else known.model_copy(update=values)
            )
        path = tmp_path / "record.json"
        record = write_record(path, make_items(golds=("0",) * n), **fields)
        return same_command(path, record)

    return of


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": {"id": "org/net@k2m12"}}, "built by this run"),
        ({"model": {"repository": "local/seed1"}}, "a folder on the machine"),
        ({"protocol": {"engine": "served: vLLM"}}, "A server answered"),
        ({"protocol": {"dtype": "8bit"}}, "loaded in 8bit"),
        ({"protocol": {"name": "prompt_run"}}, "by code of Chorus"),
        ({"task": {"harness": "chorus"}}, "by code of Chorus"),
        ({"request": {"base": "org/base"}}, "added to those of a base model"),
        (
            {"task": {"harness": "lighteval"}, "request": {"prompt": "published"}},
            "The prompt is that of an earlier lighteval",
        ),
        (
            {"protocol": {"max_items": MOST_NAMED + 1}, "n": MOST_NAMED + 1},
            "more than a command can name",
        ),
    ],
)
def test_what_no_command_measures_is_said_in_a_sentence(said, changes, why):
    found = said(**changes)
    assert found.command is None and why in found.said and found.said.endswith(".")


def test_a_trained_model_has_no_command(said, tmp_path):
    fields = record_fields(value=0.5) | {"training": TRAINED}
    path = tmp_path / "trained.json"
    record = write_record(path, make_items(), **fields)
    assert same_command(path, record).said.startswith("The model was trained on the task")


def test_mmlu_as_published_is_a_command_of_lighteval(said):
    found = said(
        task={"name": "mmlu_helm", "harness": "lighteval", "harness_version": "0.13.0", "shots": 5},
        protocol={"name": "few_shot", "max_items": 8},
    )
    words = shlex.split(found.command)
    assert words[:2] == ["lighteval", "accelerate"] and words[3:] == [
        "mmlu|5",
        "--max-samples",
        "8",
    ]
    assert "acc of the record: by Chorus" in found.said
