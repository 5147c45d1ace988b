"""One stranger stops nobody: beside thirty hostile requests five good ones get their verdicts."""

import json
import unicodedata

import pytest

from tests.security.hostile_folder import ESCAPE, SECRET, fill
from tests.unit.hub.conftest import hub  # noqa: F401
from workflow_scripts.core.clean_text import plain
from workflow_scripts.hub.metadata import METADATA
from workflow_scripts.hub.submission import Rules, check
from workflow_scripts.miniature.shipped import place
from workflow_scripts.settings.leaderboard_submissions import read_requests
from workflow_scripts.steps import fetch_metadata
from workflow_scripts.studies.suite.requests import main, submit

RULES = Rules(memory_mb=8_000, open_licences=("mit", "apache-2.0"))
SECONDS = 3  # for each, in place of a minute


@pytest.fixture
def checked(hub, tmp_path, monkeypatch):  # noqa: F811
    """The words that each reason must have, and what the check of the folder finds."""
    monkeypatch.chdir(tmp_path)
    place(tmp_path / "world", "Pythia-0.1M")
    model = tmp_path / "world/models/miniature/Pythia-0.1M"
    files = {
        path.name: path.read_bytes() for path in model.iterdir() if path.name != "manifest.json"
    }
    words = fill(tmp_path / "requests", hub, files)
    readable, refused, _ = read_requests(tmp_path / "requests", "huggingface", ())
    sources = {}
    for file, one in readable.items():
        source = tmp_path / f"submitted/{one.name}@default" / METADATA
        sources[file] = [source]
        if not source.exists():
            log, lock = tmp_path / "log", tmp_path / "lock"
            fetch_metadata.main(one.name, "default", source, log, revision=None, lock=lock)
    verdicts = check(readable, sources, RULES, seconds=SECONDS)
    entries = [
        {"file": file, "request": None, "records": {}, **verdict}
        for file, verdict in verdicts.items()
    ] + [
        {"file": file, "request": None, "records": {}, "reason": reason}
        for file, reason in refused.items()
    ]
    return words, entries


def is_calm(text: str) -> bool:
    return not any(unicodedata.category(one) in ("Cc", "Cs") for one in text if one != "\n")


def test_five_verdicts_and_thirty_reasons(checked, tmp_path, capsys):
    words, entries = checked
    reasons = {one["file"]: one["reason"] for one in entries}
    assert len(words) == 30 and len(entries) == 35
    assert sorted(file for file, reason in reasons.items() if reason is None) == [
        f"good-{at}.yaml" for at in range(5)
    ]
    for file, said in words.items():
        reason = reasons[plain(file)]
        assert said in reason and reason.endswith("."), (file, reason)
        assert len(reason) <= 1_001
    # As the terminal, the tables and whoever reads the files get it.
    checks = tmp_path / "checks.json"
    checks.write_text(json.dumps(entries))
    files = [tmp_path / f"requests.{kind}" for kind in ("csv", "md", "tex")]
    main(checks, files)
    submit({"checks": [checks]}, {}, {})
    shown = [capsys.readouterr().out, *(file.read_text("utf-8") for file in files)]
    for text in shown:
        assert all(file in text for file in ("good-0.yaml", "pipe.yaml"))
        assert is_calm(text) and SECRET not in text and ESCAPE not in text
