"""How each request stands, and what the check of requests is made with."""

import json
from pathlib import Path

import pytest

from tests.unit.settings.merged import load
from tests.unit.studies.suite.suite_study import break_off, make_entry, measure
from workflow_scripts.core.files import write_json
from workflow_scripts.render.tables import read_table
from workflow_scripts.studies.suite.requests import (
    get_status,
    main,
    make_requests_table,
    submit,
)
from workflow_scripts.studies.suite.submissions import (
    as_if_accepted,
    check_requests,
    write_checks,
)

pytestmark = pytest.mark.usefixtures("here")


def test_status_follows_the_records():
    entry = make_entry()
    measure(entry, "sst2", [True, False])
    assert get_status(entry)["status"] == "pending", "its second task waits"
    measure(entry, "truth", [True, False])
    assert get_status(entry)["status"] == "finished"
    break_off(entry, "truth")
    failed = {"status": "failed", "reason": "truth: CUDA is gone.", "log": "x.log"}
    assert get_status(entry) == failed
    Path(entry["records"]["sst2"]).write_text("{")
    assert "is not a JSON record" in get_status(entry)["reason"]


def test_submit_says_a_line_a_request_even_where_its_file_could_not_be_read(tmp_path, capsys):
    entries = [
        make_entry(),
        {"file": "bad.yaml", "request": None, "records": {}, "reason": "it is no YAML."},
        make_entry("org/far", reason="it cannot be reached.") | {"status": "unchecked"},
    ]
    write_json(tmp_path / "checks.json", entries)
    submit({"checks": [tmp_path / "checks.json"]}, {}, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["pending", "refused", "unchecked"]
    assert lines[1] == "refused    bad.yaml: it is no YAML."
    files = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    main(tmp_path / "checks.json", files)
    assert read_table(files[0])["reason"].tolist()[1:] == [
        "it is no YAML.",
        "it cannot be reached.",
    ]


def test_a_checkpoint_has_its_own_parameters_once_it_was_built(tmp_path):
    entry = make_entry("org/net@k2m12") | {"built": str(tmp_path / "manifest.json")}
    assert make_requests_table([entry])["parameters"].tolist() == [1_000_000]
    write_json(tmp_path / "manifest.json", {"parameters": 1_250_000})
    assert make_requests_table([entry])["parameters"].tolist() == [1_250_000]


def prepare(**override) -> dict:
    return check_requests(
        load(override),
        generated={"Llama-0.3M", "Qwen2-1M-Instruct"},
        source=lambda model, revision: f"hub/{model}@{revision}",
        manifest=lambda checkpoint: f"built/{checkpoint.in_path}",
    )


def test_a_request_says_by_what_it_is_checked_and_where_its_row_will_lie():
    checks = prepare()
    model, _, chunked = checks["submissions"].values()
    assert (model["sources"], model["built"]) == (["hub/miniature/Llama-0.3M@None"], None)
    assert chunked["built"] == "built/miniature--Qwen2-1M-Instruct@k2m12+cpt"
    assert model["records"]["gsm8k"].endswith("few_shot/miniature--Llama-0.3M~float32/gsm8k.json")
    assert "no model 'miniature/Pythia-1M'" in checks["refused"]["Pythia-1M.yaml"]
    assert json.loads(json.dumps(checks)) == checks
    rows = as_if_accepted(checks)
    assert [row["row"] for row in rows] == [one["row"] for one in checks["submissions"].values()]


def test_a_delta_is_checked_with_its_base(tmp_path):
    keys = {"precision": "float32", "model_type": "fine-tuned", "weight_type": "delta"}
    for file, base in (("a.yaml", "Llama-0.3M"), ("b.yaml", "Nothing")):
        names = {"name": "miniature/Qwen2-1M-Instruct", "base": f"miniature/{base}"}
        (tmp_path / file).write_text(json.dumps(keys | names))
    checks = prepare(suite={"requests": str(tmp_path)})
    assert checks["submissions"]["a.yaml"]["sources"][1] == "hub/miniature/Llama-0.3M@None"
    assert "no model 'miniature/Nothing'" in checks["refused"]["b.yaml"]


def test_what_is_refused_or_left_aside_is_written_beside_the_verdicts(tmp_path):
    checks = prepare(suite={"requests": str(tmp_path)})
    checks |= {"refused": {"b.yaml": "it is no request."}, "aside": {"a.yaml": "of the hub."}}
    write_checks({}, checks, {"checks": Path("checks.json")})
    entries = json.loads(Path("checks.json").read_text())
    assert [(entry["file"], entry.get("status")) for entry in entries] == [
        ("a.yaml", "left aside"),
        ("b.yaml", None),
    ]
