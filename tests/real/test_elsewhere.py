"""The harnesses' own command lines on the real model, imported, beside what Chorus measures of the same items."""

import json
from pathlib import Path

import pytest

from tests.cells import make_cell
from tests.processes import python
from tests.real.conftest import MODEL
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.scores.foreign.requests import build_import_request
from workflow_scripts.settings.load import load_settings

pytestmark = pytest.mark.real
ITEMS = 40

OF_LM_EVAL = """
import sys
from lm_eval.__main__ import cli_evaluate

cli_evaluate()
"""

OF_LIGHTEVAL = """
import runpy, sys

sys.argv.insert(1, "lighteval")
runpy.run_module("workflow_scripts.chunked", run_name="__main__")
"""

OURS_OF_MMLU = """
import sys
from pathlib import Path
from workflow_scripts.evaluation.mmlu import evaluate_mmlu
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.settings.compute import Compute

manifest, hub, record = map(Path, sys.argv[1:])
asked = MmluRequest(shots=5, prompt="installed", max_items_per_subject=1, seed=0,
                    compute=Compute(device="cpu", batch_size=4))
evaluate_mmlu(manifest, hub, record, asked)
"""


@pytest.fixture(scope="module")
def folder(hub, tmp_path_factory):
    """Where a command finds models and data by their names on the hub, without a network."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for kind in ("models", "datasets"):
        for one in (hub / kind).glob("*/*"):
            (folder / one.parent.name).mkdir(exist_ok=True)
            (folder / one.parent.name / one.name).symlink_to(one)
    return folder


@pytest.mark.parametrize(
    ("task", "metric"), [("arc_challenge", "acc_norm"), ("cola", "mcc"), ("mmlu_helm", "em")]
)
def test_both_have_the_same_scores_item_by_item(hub, manifest, folder, tmp_path, task, metric):
    path = tmp_path / "ours.json"
    home = {"HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    if task == "mmlu_helm":
        python(OURS_OF_MMLU, manifest, hub, path, **home)
        own_program, saving = OF_LIGHTEVAL, ["--save-details", "--output-dir"]
        words = ["accelerate", f"model_name={MODEL},dtype=float32", "mmlu|5", "--max-samples", "1"]
    else:
        evaluate_direct(manifest, hub, path, make_cell(task, metric, max_test_items=ITEMS))
        own_program, saving = OF_LM_EVAL, ["--log_samples", "--output_path"]
        names = read_items(path.with_suffix(".parquet")).column("item").to_pylist()
        drawn = {task: [int(name.rpartition("/")[2]) for name in names]}
        words = ["run", "--model", "hf", "--model_args", f"pretrained={MODEL},dtype=float32"]
        words += ["--tasks", task, "--device", "cpu", "--samples", json.dumps(drawn)]
    record = read_record(path)
    there = f"import os; os.chdir({str(folder)!r})\n"
    theirs_folder = tmp_path / "theirs"
    python(there + own_program, *words, *saving, theirs_folder, **home)
    settings = load_settings(merged({"imports": [str(theirs_folder)]}), ROOT)
    request = build_import_request(settings, "theirs")
    names, tasks = request["names"], request["tasks"]
    ((theirs, their_items),) = read_folder(Path(theirs_folder), names, tasks)
    assert (theirs.model, theirs.task) == (record.model.id, task)
    assert (theirs.shots, len(their_items)) == (record.task.shots, record.items.n)
    ours = {(one.name, one.subset): one for one in record.metrics}
    for score in theirs.scores:
        own = ours[score.name, score.subset]
        assert (score.value, score.stderr) == pytest.approx((own.value, own.stderr), nan_ok=True)
    own_items = {
        item["item"]: item for item in read_items(path.with_suffix(".parquet")).to_pylist()
    }
    assert {item.item for item in their_items} == own_items.keys()
    apart = []
    for item in their_items:
        own = own_items[item.item]
        assert (item.gold, item.prediction, item.correct) == (
            *(own["gold"], own["prediction"]),
            own["correct"],
        )
        assert item.cluster == own["cluster"]
        if item.loglikelihoods:
            both = zip(item.loglikelihoods, own["loglikelihoods"], strict=True)
            apart += [abs(one - other) for one, other in both]
        else:
            assert item.text == own["text"]
    print(f"{task}: {len(own_items)} items, log-likelihoods within {max(apart, default=0):.1g}")
    assert max(apart, default=0) < 2e-3
