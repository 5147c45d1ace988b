"""Test that nine hostile requests do not affect the checks of valid ones."""

import json
import unicodedata

import pytest

from tests.security.hostile_folder import ESCAPE, SECRET, fill
from tests.unit.hub.conftest import hub  # noqa: F401
from workflow_scripts.core.clean_text import clean_line
from workflow_scripts.hub import metadata
from workflow_scripts.hub.submission import SubmissionRules, check_submissions
from workflow_scripts.miniature.shipped import copy_model
from workflow_scripts.settings.leaderboard_submissions import read_requests
from workflow_scripts.studies.suite import requests, submit

RULES = SubmissionRules(memory_mb=8_000, open_licences=("mit", "apache-2.0"))


@pytest.fixture
def checked(hub, tmp_path, monkeypatch):  # noqa: F811
    """Return the words of each expected refusal, and the checked entries."""
    monkeypatch.chdir(tmp_path)
    copy_model(tmp_path / "world", "Pythia-0.1M")
    model = tmp_path / "world/models/miniature/Pythia-0.1M"
    files = {
        path.name: path.read_bytes() for path in model.iterdir() if path.name != "manifest.json"
    }
    words = fill(tmp_path / "requests", hub, files)
    accepted, refused = read_requests(tmp_path / "requests", "huggingface", (), ())
    submissions = {}
    for file, request in accepted.items():
        source = tmp_path / f"submitted/{request.name}@default" / metadata.METADATA
        submissions[file] = {"request": request.model_dump(), "sources": [source]}
        if not source.exists():
            log, lock = tmp_path / "log", tmp_path / "lock"
            metadata.main(request.name, "default", source, log, revision=None, lock=lock)
    verdicts = check_submissions(submissions, RULES, seconds=3)
    verdicts |= {file: {"reason": reason} for file, reason in refused.items()}
    entries = [
        {"file": file, "request": None, "records": {}, **verdict}
        for file, verdict in verdicts.items()
    ]
    return words, entries


def test_hostile_requests_stop_no_other(checked, tmp_path, capsys):
    words, entries = checked
    reasons = {entry["file"]: entry["reason"] for entry in entries}
    assert len(words) == 9 and len(entries) == 11
    accepted = [file for file, reason in reasons.items() if reason is None]
    assert sorted(accepted) == ["good-bfloat16.yaml", "good-float32.yaml"]
    for file, expected in words.items():
        assert expected in reasons[clean_line(file)] and len(reasons[clean_line(file)]) <= 1_001
    # Check the terminal output and the tables.
    checks = tmp_path / "checks.json"
    checks.write_text(json.dumps(entries))
    files = [tmp_path / f"requests.{kind}" for kind in ("csv", "md", "tex")]
    requests.main(checks, files)
    submit.main(checks)
    for text in (capsys.readouterr().out, *(file.read_text("utf-8") for file in files)):
        assert "good-float32.yaml" in text and "pipe.yaml" in text
        assert SECRET not in text and ESCAPE not in text
        signs = {unicodedata.category(sign) for sign in text if sign != "\n"}
        assert not signs & {"Cc", "Cs"}
