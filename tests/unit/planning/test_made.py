"""What a config has made: records by study, and the tables and figures of the studies that it has."""

import json

import pytest
import yaml

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.made import (
    figures_made,
    records_made,
    scores_that_lost_a_record,
    tables_made,
)
from workflow_scripts.settings.load import load_settings


def settings(**changes):
    return load_settings(merged(changes), ROOT)


def test_each_study_has_the_records_that_the_config_asks_for():
    made = records_made(settings())
    assert list(made) == ["chunking", "latency", "training", "harmony", "mmlu", "prompts", "suite"]
    assert made["suite"] == [], "its rows are known once they are checked"
    assert made["latency"] == [
        "results/records/latency/latency/miniature--Qwen2-1M-Instruct/mmlu.json"
    ]
    every = [path for paths in made.values() for path in paths]
    assert len(every) == len(set(every))
    assert all(path.startswith("results/records/") for path in every)


def test_times_are_taken_of_other_models_or_of_none_where_the_config_says_so():
    def made(*models):
        measures = {"latency_models": list(models), "latency_layers": [2]}
        config = settings(chunking={"measures": measures})
        tables = {name for names in tables_made(config).values() for name in names}
        figures = {name for names in figures_made(config).values() for name in names}
        timed = {"chunking_latency", "chunking_pruning"}
        assert tables & timed == figures & timed
        return records_made(config).get("latency"), tables & timed

    other = "results/records/latency/latency/miniature--Qwen2-1M/mmlu.json"
    assert made("miniature/Qwen2-1M") == ([other], {"chunking_latency", "chunking_pruning"})
    assert made() == (None, set())


def test_a_cell_has_a_record_a_seed_and_a_protocol_that_needs_training_data_leaves_tasks_out():
    config = settings(
        harmony={
            "models": ["miniature/Pythia-0.1M"],
            "tasks": ["mnli", "arc_challenge"],
            "protocols": ["train_before_test"],
            "seeds": [1, 2],
        }
    )
    folder = "results/records/harmony/train_before_test/miniature--Pythia-0.1M"
    assert records_made(config)["harmony"] == [
        f"{folder}/{task}{seed}.json"
        for task in ("mnli", "arc_challenge")
        for seed in ("", ".seed-2")
    ]
    untrained = next(name for name, row in config.tasks.items() if not row.training)
    direct = settings(harmony={"tasks": ["mnli", untrained], "protocols": ["direct"]})
    trained = settings(harmony={"tasks": ["mnli", untrained], "protocols": ["train_before_test"]})
    assert any(untrained in path for path in records_made(direct)["harmony"])
    assert not any(untrained in path for path in records_made(trained)["harmony"])


def test_a_study_that_the_config_leaves_out_makes_nothing_and_the_published_scores_need_none(
    tmp_path, monkeypatch
):
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    empty = settings(
        harmony={"models": []},
        prompts={"models": []},
        chunking={"checkpoints": []},
        suite={"requests": "none"},
    )
    assert records_made(empty) == {}
    assert list(tables_made(empty)) == list(figures_made(empty)) == ["published"]


def test_imported_scores_are_a_study_of_their_own_without_any_model():
    theirs = "resources/published/harmony_cells.csv"
    alone = settings(harmony={"models": [], "imported_scores": [theirs]})
    assert records_made(alone)["harmony"] == []
    assert tables_made(alone)["harmony"] == tables_made(settings())["harmony"]
    assert figures_made(alone)["harmony"] == figures_made(settings())["harmony"]


def test_texts_of_ones_own_have_their_table_and_figure_beside_the_grid():
    assert "corpora" not in tables_made(settings())
    own = settings(harmony={"corpora": {"mine": str(ROOT / "envs/requirements.txt")}})
    for made in (tables_made, figures_made):
        assert made(own)["corpora"] == ["harmony_perplexity", "harmony_text_agreement"]


def test_of_the_published_grid_no_table_or_figure_is_made_twice():
    published = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    for config in (settings(), settings(**published)):
        for made in (tables_made, figures_made):
            names = [name for those in made(config).values() for name in those]
            assert len(names) == len(set(names))


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
