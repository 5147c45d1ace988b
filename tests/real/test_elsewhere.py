"""Run the harnesses' command lines on the real model, and compare the imported results with our evaluation."""

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
from workflow_scripts.scores.foreign.requests import describe_tasks
from workflow_scripts.scores.foreign.result_folders import read_folder
from workflow_scripts.settings.load import load_settings

pytestmark = pytest.mark.real
ITEMS = 40

LM_EVAL_CLI = """
import sys
from lm_eval.__main__ import cli_evaluate

cli_evaluate()
"""

LIGHTEVAL_CLI = """
import runpy, sys

sys.argv.insert(1, "lighteval")
runpy.run_module("workflow_scripts.chunked", run_name="__main__")
"""

EVALUATE_MMLU = """
import sys
from pathlib import Path
from workflow_scripts.evaluation.mmlu import evaluate_mmlu
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.settings.compute import Compute

manifest, hub, record = map(Path, sys.argv[1:])
mmlu_request = MmluRequest(shots=5, prompt="installed", max_items_per_subject=1, seed=0,
                           compute=Compute(device="cpu", dtype="float32", batch_size=4))
data = [hub / "datasets/lighteval/mmlu/manifest.json"]
evaluate_mmlu(manifest, data, record, mmlu_request.to_params())
"""


@pytest.fixture(scope="module")
def folder(hub, tmp_path_factory):
    """Make a folder in which commands find models and data by their hub names without network."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for kind in ("models", "datasets"):
        for source in (hub / kind).glob("*/*"):
            (folder / source.parent.name).mkdir(exist_ok=True)
            (folder / source.parent.name / source.name).symlink_to(source)
    return folder


@pytest.mark.parametrize(
    ("task", "metric"), [("arc_challenge", "acc_norm"), ("cola", "mcc"), ("mmlu_helm", "em")]
)
def test_cli_scores_equal_items(hub, manifest, folder, tmp_path, task, metric):
    path = tmp_path / "ours.json"
    home = {"HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    if task == "mmlu_helm":
        python(EVALUATE_MMLU, manifest, hub, path, **home)
        program, saving = LIGHTEVAL_CLI, ["--save-details", "--output-dir"]
        # A batch size, because lighteval's search for the largest fills the memory of any machine.
        # Without the chat template, as published.
        model = f"model_name={MODEL},dtype=float32,batch_size=4,override_chat_template=False"
        words = ["accelerate", model, "mmlu|5", "--max-samples", "1"]
    else:
        evaluate_direct(manifest, hub, path, make_cell(task, metric, max_test_items=ITEMS))
        program, saving = LM_EVAL_CLI, ["--log_samples", "--output_path"]
        names = read_items(path).column("item").to_pylist()
        indices = {task: [int(name.rpartition("/")[2]) for name in names]}
        words = ["run", "--model", "hf", "--model_args", f"pretrained={MODEL},dtype=float32"]
        words += ["--tasks", task, "--device", "cpu", "--samples", json.dumps(indices)]
    record = read_record(path)
    change_folder = f"import os; os.chdir({str(folder)!r})\n"
    reference_folder = tmp_path / "theirs"
    python(change_folder + program, *words, *saving, reference_folder, **home)
    settings = load_settings(merged({"imports": [str(reference_folder)]}))
    cells = read_folder(Path(reference_folder), **describe_tasks(settings))
    ((reference, reference_items),) = cells
    assert (reference.model, reference.task) == (record.model.id, task)
    assert (reference.shots, len(reference_items)) == (record.task.shots, record.items.n)
    metrics = {(metric.name, metric.subset): metric for metric in record.metrics}
    for score in reference.scores:
        own = metrics[score.name, score.subset]
        assert (score.value, score.stderr) == pytest.approx((own.value, own.stderr), nan_ok=True)
    own_items = {item["item"]: item for item in read_items(path).to_pylist()}
    assert {item.item for item in reference_items} == own_items.keys()
    differences = []
    for item in reference_items:
        own = own_items[item.item]
        assert (item.gold, item.cluster) == (own["gold"], own["cluster"])
        own_scores = dict(own["scores"])
        names = item.scores.keys() & own_scores
        assert names or metric == "mcc", "which has no score of an item"
        assert all(item.scores[name] == own_scores[name] for name in names)
        if item.loglikelihoods:
            both = zip(item.loglikelihoods, own["loglikelihoods"], strict=True)
            differences += [abs(first - second) for first, second in both]
        else:
            assert item.prediction == own["prediction"]
    assert max(differences, default=0) < 2e-3
