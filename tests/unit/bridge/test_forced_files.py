"""Scores whose records are gone are made again, although nothing that Snakemake looks at says so."""

import json

import pytest

from workflow_scripts.bridge.forced_files import (
    checks_that_lost_a_source,
    scores_that_lost_a_record,
)


@pytest.fixture
def folder(here):
    (here / "results/scores").mkdir(parents=True)
    for study in ("harmony", "mmlu", "suite"):
        (here / f"results/scores/{study}.parquet").touch()
    return here


def test_a_study_that_lost_a_record_has_its_scores_made_again(folder):
    (folder / "there.json").touch()
    records = {"harmony": ["there.json"], "mmlu": ["there.json", "gone.json"], "suite": []}
    assert scores_that_lost_a_record(records) == ["results/scores/mmlu.parquet"]


def test_scores_that_could_not_be_gathered_are_gathered_again(folder):
    (folder / "there.json").touch()
    assert scores_that_lost_a_record({"harmony": ["there.json"]}) == []
    (folder / "results/scores/harmony.parquet").unlink()
    assert scores_that_lost_a_record({"harmony": ["there.json"]}) == [
        "results/scores/harmony.parquet"
    ]


def test_the_records_of_the_suite_are_those_of_the_accepted_requests(folder):
    accepted = {"reason": None, "records": {"mmlu": "gone.json"}}
    refused = {"reason": "It is a pickle.", "records": {"mmlu": "never.json"}}
    checks = folder / "results/requests/checks.json"
    assert scores_that_lost_a_record({"suite": []}) == []
    checks.parent.mkdir()
    checks.write_text(json.dumps([refused]))
    assert scores_that_lost_a_record({"suite": []}) == []
    checks.write_text(json.dumps([refused, accepted]))
    assert scores_that_lost_a_record({"suite": []}) == ["results/scores/suite.parquet"]
    assert scores_that_lost_a_record({"harmony": []}) == [], "the config has no suite"


def test_requests_that_the_hub_did_not_answer_are_checked_again(folder):
    checks = folder / "results/requests/checks.json"
    checks.parent.mkdir()
    (folder / "there.json").touch()

    def forced(reason: str | None, *sources: str, commit: str | None = None) -> list[str]:
        entry = {"file": "net.yaml", "reason": reason, "records": {}, "commit": commit}
        checks.write_text(json.dumps([entry]))
        return checks_that_lost_a_source({"net.yaml": sources, "new.yaml": ["gone.json"]})

    assert forced("It cannot be reached.", "gone.json") == ["results/requests/checks.json"]
    assert forced("Its base cannot be reached.", "there.json", "gone.json") == [
        "results/requests/checks.json"
    ]
    assert forced("It is a pickle.", "there.json") == []
    read = {"commit": "0" * 40}
    assert forced(None, "gone.json", **read) == [], "what was accepted is not asked about again"
    assert forced("It is a pickle.", "gone.json", **read) == [], "nor what was read and refused"
    # Asked by another folder that shares the hub, or whose results are gone.
    (folder / "broken.json").write_text(json.dumps({"broken": {"reason": "It cannot be reached."}}))
    assert forced(None, "broken.json", **read) == ["results/requests/checks.json", "broken.json"]
    checks.unlink()
    assert checks_that_lost_a_source({"net.yaml": ["gone.json"]}) == [], "it is made anyway"
