"""A job says that it runs and how it ended; one that another has taken the place of writes nothing."""

import json

import pytest

from workflow_scripts.bridge import journal
from workflow_scripts.core import own_job
from workflow_scripts.core.errors import Interrupted
from workflow_scripts.training.state import StateFolder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHORUS_JOB", raising=False)
    return tmp_path


def test_a_job_is_running_then_done_or_failed(folder):
    log = folder / "logs/a/b c.log"
    with journal.in_journal("a", log):
        (entry,) = journal.entries().values()
        assert entry["state"] == "running"
        assert (entry["rule"], entry["log"]) == ("a", str(log))
    (entry,) = journal.entries().values()
    assert entry["state"] == "done"
    assert entry["ended"] >= entry["started"]
    with pytest.raises(ValueError, match="no"), journal.in_journal("a", log):
        raise ValueError("no")
    assert journal.entries()[str(log)]["state"] == "failed"


def take_over(log):
    """What the same job writes when it is started on another node."""
    path = journal.entry_of(log)
    entry = json.loads(path.read_text()) | {"writer": "other:1:2"}
    path.write_text(json.dumps(entry))


def test_a_training_that_was_started_anew_elsewhere_saves_nothing_more(folder):
    log = folder / "logs/train/x.log"
    state = StateFolder(folder / "state", {"a": 1})
    with (
        pytest.raises(Interrupted, match="started again elsewhere"),
        journal.in_journal("train", log),
    ):
        (state.path / "checkpoint-1").mkdir()
        state.seal(1)
        take_over(log)
        (state.path / "checkpoint-2").mkdir()
        state.seal(2)
    assert not (state.path / "checkpoint-2/seal.json").exists()
    assert (state.path / "checkpoint-1/seal.json").exists()
    # Nor does it speak for the one that goes on.
    assert journal.entries()[str(log)]["state"] == "running"


def test_a_job_knows_whether_the_one_before_it_was_killed(folder):
    log = folder / "logs/a.log"
    with journal.in_journal("a", log):
        assert not own_job.was_killed_before()
        killed = journal.entry_of(log).read_bytes()
    with journal.in_journal("a", log):
        assert not own_job.was_killed_before(), "it came to its end"
    journal.entry_of(log).write_bytes(killed)  # what a kill leaves
    with journal.in_journal("a", log):
        assert own_job.was_killed_before()
