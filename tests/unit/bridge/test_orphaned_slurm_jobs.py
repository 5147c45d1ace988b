"""Jobs that a killed run left in Slurm are cancelled, and nobody else's are."""

import os

import pytest

from workflow_scripts.bridge import orphaned_slurm_jobs as left_behind

SQUEUE = """#!/bin/sh
test -e "{folder}/cancelled" || cat "{folder}/jobs"
"""
SCANCEL = """#!/bin/sh
echo "$@" > "{folder}/cancelled"
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's commands as far as they are used, and what they list."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("squeue", SQUEUE), ("scancel", SCANCEL)):
        (programs / name).write_text(text.format(folder=tmp_path))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(left_behind, "_POLL", 0.01)
    monkeypatch.setattr(left_behind, "_SECONDS", 2)
    return tmp_path


def test_jobs_of_this_folder_are_cancelled_and_others_left_alone(slurm, capsys):
    here = slurm / "run"
    here.mkdir()
    (slurm / "jobs").write_text(
        f"11|{here}|rule_evaluate_direct_wildcards_a_b\n"
        f"12_3|{here}|rule_train_before_test\n"
        f"13|{here}|a job of my own\n"
        f"14|{slurm}/another|rule_evaluate_direct\n"
    )
    assert left_behind.cancel_left_behind(here) == ["11", "12_3"]
    assert (slurm / "cancelled").read_text().split() == ["11", "12_3"]
    assert "2 jobs of an earlier run" in capsys.readouterr().err


def test_with_none_left_nothing_is_cancelled(slurm):
    (slurm / "jobs").write_text("")
    assert left_behind.cancel_left_behind(slurm) == []
    assert not (slurm / "cancelled").exists()


def test_without_slurm_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert left_behind.cancel_left_behind(tmp_path) == []
