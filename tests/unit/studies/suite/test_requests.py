"""Test the table of request statuses, and the checks of requests."""

import json
from pathlib import Path

import pytest

from tests.unit.settings.merged import load
from tests.unit.studies.suite.suite_study import fail, make_entry, measure
from workflow_scripts.core.files import write_json
from workflow_scripts.studies.suite.inputs import SuiteInputs
from workflow_scripts.studies.suite.requests import get_parameters, get_status

pytestmark = pytest.mark.usefixtures("here")


def test_status_follows_the_records():
    entry = measure(make_entry(), [True, False], ["sst2"])
    assert get_status(entry)["status"] == "pending"
    measure(entry, [True, False])
    assert get_status(entry)["status"] == "finished"
    fail(entry, "truth")
    failed = {"status": "failed", "reason": "truth: CUDA is gone.", "log": "x.log"}
    assert get_status(entry) == failed
    Path(entry["records"]["sst2"]).write_text("{")
    assert "is not a JSON record" in get_status(entry)["reason"]


def test_parameters_of_built_checkpoint():
    entry = make_entry() | {"built": "manifest.json"}
    assert get_parameters(entry) == 1_000_000
    write_json(Path("manifest.json"), {"parameters": 1_250_000})  # once built
    assert get_parameters(entry) == 1_250_000


def prepare(**override) -> SuiteInputs:
    return SuiteInputs(load(override), str)


def test_check_requests(tmp_path):
    suite = prepare()
    checks = suite.check_params
    model = checks["submissions"]["Llama-0.3M.yaml"]
    chunked = checks["submissions"]["Qwen2-1M-Instruct@k2m12+cpt.yaml"]
    assert model["sources"][0].endswith("models/miniature/Llama-0.3M/manifest.json")
    assert model["built"] is None
    assert chunked["built"].endswith("/miniature--Qwen2-1M-Instruct@k2m12+cpt/manifest.json")
    assert model["records"]["gsm8k"].endswith("few_shot/miniature--Llama-0.3M~float32/gsm8k.json")
    assert json.loads(json.dumps(checks)) == checks
    rows = [entry["row"] for entry in checks["submissions"].values()]
    assert [entry["row"] for entry in suite.accept_unchecked()] == rows


def test_delta_checked_with_base(tmp_path):
    keys = {"precision": "float32", "model_type": "fine-tuned", "weight_type": "delta"}
    for file, base in (("a.yaml", "Llama-0.3M"), ("b.yaml", "Nothing")):
        names = {"name": "miniature/Qwen2-1M-Instruct", "base": f"miniature/{base}"}
        (tmp_path / file).write_text(json.dumps(keys | names))
    checks = prepare(suite={"requests": str(tmp_path)}).check_params
    assert checks["submissions"]["a.yaml"]["sources"][1].endswith("Llama-0.3M/manifest.json")
    assert "no model 'miniature/Nothing'" in checks["refused"]["b.yaml"]
