"""What a config has made, by the declarations of its products, and that these name what there is."""

from importlib import import_module
from pathlib import Path

import pytest
from workflow_scripts.paper.products import (
    BY_NAME,
    PRODUCTS,
    chapter_files,
    listed,
    wanted,
    wanted_records,
)

from tests.processes import python
from tests.unit.settings.merged import load
from workflow_scripts.core.named import named
from workflow_scripts.paper.studies import STUDIES

NOTHING = {
    "harmony": {"models": []},
    "prompts": {"models": []},
    "chunking": {"checkpoints": []},
    "suite": {"requests": "none"},
}


def settings(**changes):
    return load(changes)


@pytest.fixture
def nothing(here):
    """A config that asks for no model."""
    (here / "none").mkdir()
    return settings(**NOTHING)


def names(config, kind, **of):
    made = [one for one in wanted(config) if one.kind == kind]
    return [one.name for one in made if all(getattr(one, key) == of[key] for key in of)]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda one: f"{one.kind} {one.name}")
def test_a_declaration_names_what_makes_it_and_asks_it_what_it_takes(product):
    if product.kind == "page":
        assert callable(named(product.module))
    else:
        made_by = getattr(import_module(f"workflow_scripts.{product.module}"), product.kind.upper())
        assert isinstance(product.request(settings()), made_by.asks)
    assert product.sentence.endswith(".")
    assert product.caption or product.kind == "table"


def test_a_name_is_declared_once():
    assert len(BY_NAME) == len(PRODUCTS)


def test_the_declarations_import_nothing_heavy():
    """Each Snakemake of a run reads them."""
    code = "import sys, workflow_scripts.paper.products; print(*sys.modules)"
    heavy = {"pandas", "numpy", "torch", "matplotlib", "scipy", "transformers", "pyarrow"}
    assert heavy & set(python(code).split()) == set()


def test_every_table_of_a_config_stands_in_a_chapter_of_its_report():
    mine = settings()
    chapters = chapter_files(mine)
    shown = {Path(path).stem for files in chapters.values() for path in files}
    made = {one.name for one in wanted(mine) if one.kind == "table" and one.target != "test_task"}
    assert made == shown & made
    assert not any(name.startswith("test_task") for name in shown), "and so is this grid"
    added = {name for name, grid in mine.grids.items() if grid.in_report} - {"own", "published"}
    keys = {study.key for study in STUDIES}
    assert chapters.keys() <= keys | added, "a grid that is added stands in the last chapter"


def test_the_list_names_a_file_and_a_sentence_for_each_product_of_the_config(nothing):
    lines = listed(settings())
    assert len(lines) == len(wanted(settings()))


def test_each_study_has_the_records_that_the_config_asks_for():
    made = wanted_records(settings())
    assert list(made) == ["chunking", "latency", "training", "harmony", "mmlu", "prompts", "suite"]
    assert made["suite"] == [], "its rows are known once they are checked"
    assert made["latency"] == [
        "results/records/latency/latency/miniature--Qwen2-1M-Instruct/mmlu.json"
    ]
    every = [path for paths in made.values() for path in paths]
    assert len(every) == len(set(every))
    assert all(path.startswith("results/records/") for path in every)


def test_a_cell_has_a_record_a_seed_and_a_protocol_that_needs_training_data_leaves_tasks_out():
    grid = {"models": ["miniature/Pythia-0.1M"], "tasks": ["mnli", "arc_challenge"]}
    config = settings(harmony={**grid, "protocols": ["train_before_test"], "seeds": [1, 2]})
    folder = "results/records/harmony/train_before_test/miniature--Pythia-0.1M"
    assert wanted_records(config)["harmony"] == [
        f"{folder}/{task}{seed}.json"
        for task in ("mnli", "arc_challenge")
        for seed in ("", ".seed-2")
    ]
    untrained = next(name for name, row in config.tasks.items() if not row.training)
    direct = settings(harmony={"tasks": ["mnli", untrained], "protocols": ["direct"]})
    trained = settings(harmony={"tasks": ["mnli", untrained], "protocols": ["train_before_test"]})
    assert any(untrained in path for path in wanted_records(direct)["harmony"])
    assert not any(untrained in path for path in wanted_records(trained)["harmony"])


def test_a_study_that_the_config_leaves_out_measures_nothing(nothing):
    assert wanted_records(nothing) == {}
    assert "leaderboard" not in names(nothing, "page"), "it would have no tab"
