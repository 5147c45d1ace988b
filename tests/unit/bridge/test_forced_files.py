"""Scores whose records are gone are made again, although nothing that Snakemake looks at says so."""

import json

import pytest

from workflow_scripts.bridge.forced_files import scores_that_lost_a_record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_that_lost_a_record_has_its_scores_made_again(folder):
    (folder / "there.json").touch()
    records = {"harmony": ["there.json"], "mmlu": ["there.json", "gone.json"], "suite": []}
    assert scores_that_lost_a_record(records) == ["results/scores/mmlu.parquet"]


def test_the_records_of_the_suite_are_those_of_the_accepted_requests(folder):
    accepted = {"reason": None, "records": {"mmlu": "gone.json"}}
    refused = {"reason": "It is a pickle.", "records": {"mmlu": "never.json"}}
    checks = folder / "results/requests/checks.json"
    assert scores_that_lost_a_record({"suite": []}) == []
    checks.parent.mkdir(parents=True)
    checks.write_text(json.dumps([refused]))
    assert scores_that_lost_a_record({"suite": []}) == []
    checks.write_text(json.dumps([refused, accepted]))
    assert scores_that_lost_a_record({"suite": []}) == ["results/scores/suite.parquet"]
    assert scores_that_lost_a_record({"harmony": []}) == [], "the config has no suite"
