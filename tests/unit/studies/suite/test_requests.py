"""How a request stands is told from files, whatever is going on."""

from pathlib import Path

import pytest

from tests.processes import python
from tests.unit.studies.suite.suite_study import break_off, entry, measure, write_checks
from tests.written import written
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json
from workflow_scripts.studies.suite import requests as suite_requests
from workflow_scripts.studies.suite.requests import lines, read_checks, requests, status_of
from workflow_scripts.studies.suite.requests_table import TABLE, requests_table

pytestmark = pytest.mark.usefixtures("here")


def test_pending_until_all_its_records_are_there():
    one = entry()
    assert status_of(one)["status"] == "pending"
    measure(one, "sst2", [True, False])
    assert status_of(one)["status"] == "pending", "its second task waits"
    measure(one, "truth", [True, False])
    assert status_of(one)["status"] == "finished"


def test_failed_names_the_reason_and_the_log():
    one = entry()
    measure(one, "sst2", [True])
    break_off(one, "truth")
    assert status_of(one) == {
        "status": "failed",
        "reason": "truth: CUDA is gone.",
        "log": "logs/x.log",
    }


def test_a_damaged_record_has_failed_and_stops_no_other():
    one = entry()
    measure(one, "sst2", [True])
    Path(one["records"]["sst2"]).write_text("{")
    found = status_of(one)
    assert found["status"] == "failed" and "is not a JSON record" in found["reason"]
    assert found["log"] == one["logs"]["sst2"]


def test_saying_how_requests_stand_loads_no_tables():
    told = python("import sys, workflow_scripts.studies.suite.requests; print(*sys.modules)")
    assert not {"pandas", "pyarrow", "numpy"} & set(told.split())


def test_a_request_is_one_line_even_where_its_file_could_not_be_read(tmp_path):
    unread = {"file": "bad.yaml", "request": None, "row": None, "records": {}, "logs": {}}
    entries = [
        entry(),
        entry("org/bad", reason="its licence 'x' is not open."),
        unread | {"reason": "it cannot be read as YAML."},
        unread | {"file": "real.yaml", "reason": "org/real is of the hub", "status": "left aside"},
        entry("org/far", reason="it cannot be reached.") | {"status": "unchecked"},
    ]
    rows = requests(entries)
    assert lines(rows) == [
        "pending    org--net~float32.yaml: org/net in float32, 1,000,000 parameters, mit",
        "refused    org--bad~float32.yaml: org/bad in float32: its licence 'x' is not open.",
        "refused    bad.yaml: it cannot be read as YAML.",
        "left aside real.yaml: org/real is of the hub",
        "unchecked  org--far~float32.yaml: org/far in float32: it cannot be reached.",
    ]
    table = requests_table(write_checks(tmp_path / "checks.json", *entries))
    found = written(TABLE, table, tmp_path)
    assert "its licence 'x' is not open." in found.md
    assert found.again["status"].tolist() == table["status"].tolist()


def test_a_checkpoint_has_its_own_parameters_once_it_was_built(tmp_path):
    one = entry("org/net@k2m12") | {"built": str(tmp_path / "manifest.json")}
    assert requests([one])[0]["parameters"] == 1_000_000
    write_json(tmp_path / "manifest.json", {"parameters": 1_250_000})
    assert requests([one])[0]["parameters"] == 1_250_000


def test_the_command_says_the_lines_and_what_to_do_before_the_first_check(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir("/")
    monkeypatch.setattr("sys.argv", ["suite_requests", "--directory", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        suite_requests.main()
    assert "snakemake submit" in str(ended.value)
    write_checks(suite_requests.CHECKS, entry())
    suite_requests.main()
    assert capsys.readouterr().out.startswith("pending    org--net")
    with pytest.raises(UserError, match="is missing"):
        read_checks(suite_requests.CHECKS.with_name("none.json"))
