"""Test the list of records that a config needs."""

from tests.unit.settings.merged import load
from workflow_scripts.studies.records import list_records

NOTHING = {
    "harmony": {"models": []},
    "prompts": {"models": []},
    "chunking": {"checkpoints": []},
    "suite": {"requests": "none"},
}


def test_records_are_distinct():
    records = list_records(load({}))
    assert records["suite"] == [], "its rows are known once they are checked"
    all_paths = [path for paths in records.values() for path in paths]
    assert len(all_paths) == len(set(all_paths)) > 0
    assert all(path.startswith("results/records/") for path in all_paths)


def test_seeds_have_separate_records():
    grid = {"models": ["miniature/Pythia-0.1M"], "tasks": ["mnli", "arc_challenge"]}
    harmony = {**grid, "protocols": ["train_before_test"], "seeds": [1, 2]}
    folder = "results/records/harmony/train_before_test/miniature--Pythia-0.1M"
    assert list_records(load({"harmony": harmony}))["harmony"] == [
        f"{folder}/{task}{seed}.json"
        for task in ("mnli", "arc_challenge")
        for seed in ("", ".seed-2")
    ]


def test_omitted_studies_list_nothing(here):
    (here / "none").mkdir()
    assert list_records(load(NOTHING)) == {}
