"""How each request stands, and what the check of requests is made with."""

import json
from pathlib import Path

import pytest

from tests.unit.settings.merged import load
from tests.unit.studies.suite.suite_study import break_off, entry, measure
from tests.written import written
from workflow_scripts.core.files import write_json
from workflow_scripts.studies.suite.requests import (
    TABLE,
    get_status,
    make_requests_table,
    submit,
)
from workflow_scripts.studies.suite.submissions import (
    CheckRequests,
    as_if_accepted,
    check_requests,
    write_checks,
)

pytestmark = pytest.mark.usefixtures("here")
FILES = ["Llama-0.3M.yaml", "Qwen2-1M-Instruct.yaml", "Qwen2-1M-Instruct@k2m12+cpt.yaml"]


def test_status_follows_the_records():
    one = entry()
    assert get_status(one)["status"] == "pending"
    measure(one, "sst2", [True, False])
    assert get_status(one)["status"] == "pending", "its second task waits"
    measure(one, "truth", [True, False])
    assert get_status(one)["status"] == "finished"
    break_off(one, "truth")
    failed = {"status": "failed", "reason": "truth: CUDA is gone.", "log": "logs/x.log"}
    assert get_status(one) == failed
    Path(one["records"]["sst2"]).write_text("{")
    assert "is not a JSON record" in get_status(one)["reason"]


def test_submit_says_a_line_a_request_even_where_its_file_could_not_be_read(tmp_path, capsys):
    unread = {"file": "bad.yaml", "request": None, "row": None, "records": {}}
    entries = [
        entry(),
        entry("org/bad", reason="its licence 'x' is not open."),
        unread | {"reason": "it cannot be read as YAML."},
        unread | {"file": "real.yaml", "reason": "org/real is of the hub", "status": "left aside"},
        entry("org/far", reason="it cannot be reached.") | {"status": "unchecked"},
    ]
    write_json(tmp_path / "checks.json", entries)
    submit({"checks": [tmp_path / "checks.json"]}, {}, {})
    assert capsys.readouterr().out.splitlines() == [
        "pending    org--net~float32.yaml: org/net in float32",
        "refused    org--bad~float32.yaml: org/bad in float32: its licence 'x' is not open.",
        "refused    bad.yaml: it cannot be read as YAML.",
        "left aside real.yaml: org/real is of the hub",
        "unchecked  org--far~float32.yaml: org/far in float32: it cannot be reached.",
    ]
    table = make_requests_table(entries)
    found = written(TABLE, table, tmp_path)
    assert "its licence 'x' is not open." in found.md
    assert found.again["status"].tolist() == table["status"].tolist()


def test_a_checkpoint_has_its_own_parameters_once_it_was_built(tmp_path):
    one = entry("org/net@k2m12") | {"built": str(tmp_path / "manifest.json")}
    assert make_requests_table([one])["parameters"].tolist() == [1_000_000]
    write_json(tmp_path / "manifest.json", {"parameters": 1_250_000})
    assert make_requests_table([one])["parameters"].tolist() == [1_250_000]


def prepare(**override) -> CheckRequests:
    return check_requests(
        load(override),
        generated={"Llama-0.3M", "Qwen2-1M-Instruct"},
        source=lambda model, revision: f"hub/{model}@{revision}",
        manifest=lambda checkpoint: f"built/{checkpoint.in_path}",
    )


def test_a_request_says_by_what_it_is_checked_and_where_its_row_will_lie():
    found = prepare()
    assert list(found.submissions) == FILES
    model, _, chunked = found.submissions.values()
    assert (model.sources, model.built) == (("hub/miniature/Llama-0.3M@None",), None)
    assert chunked.built == "built/miniature--Qwen2-1M-Instruct@k2m12+cpt"
    assert model.records["gsm8k"].endswith("few_shot/miniature--Llama-0.3M~float32/gsm8k.json")
    assert CheckRequests.of(json.loads(json.dumps(found.as_params()))) == found
    assert found.refused["Pythia-1M.yaml"] == (
        "there is no model 'miniature/Pythia-1M' in the miniature world."
    )


def test_a_delta_is_checked_with_its_base(tmp_path):
    keys = {"precision": "float32", "model_type": "fine-tuned", "weight_type": "delta"}
    for file, base in (("a.yaml", "Llama-0.3M"), ("b.yaml", "Nothing")):
        names = {"name": "miniature/Qwen2-1M-Instruct", "base": f"miniature/{base}"}
        (tmp_path / file).write_text(json.dumps(keys | names))
    found = prepare(suite={"requests": str(tmp_path)})
    assert found.submissions["a.yaml"].sources[1] == "hub/miniature/Llama-0.3M@None"
    assert "no model 'miniature/Nothing'" in found.refused["b.yaml"]


def test_before_the_check_a_row_is_at_the_commit_of_the_last_one_or_at_any(tmp_path):
    last = tmp_path / "checks.json"
    rows = as_if_accepted(prepare(), last)
    assert len({row["commit"] for row in rows}) == 1 and len(rows[0]["commit"]) == 40
    last.write_text(json.dumps([{"row": rows[0]["row"], "commit": "c" * 40}, {"row": None}]))
    first, second, _ = as_if_accepted(prepare(), last)
    assert (first["commit"], second["commit"]) == ("c" * 40, rows[1]["commit"])


def test_the_check_has_an_entry_for_each_file_and_says_why_it_is_not_taken(tmp_path):
    refused = CheckRequests(
        submissions={},
        refused={"b.yaml": "it is no request."},
        aside={"a.yaml": "it is of the hub."},
        memory_mb=1,
        open_licences=(),
        on_gpu=False,
    )
    write_checks({}, refused.as_params(), {"checks": tmp_path / "checks.json"})
    nothing = {"request": None, "row": None, "built": None, "records": {}}
    assert json.loads((tmp_path / "checks.json").read_text()) == [
        {"file": "a.yaml", **nothing, "reason": "it is of the hub.", "status": "left aside"},
        {"file": "b.yaml", **nothing, "reason": "it is no request."},
    ]
