"""Test that generated datasets have the columns of the real ones and are read by the same code."""

from pathlib import Path

import pytest
import yaml
from datasets import ClassLabel, List, Value, load_dataset

from workflow_scripts.hub.manifest import describe_damage, read_manifest
from workflow_scripts.miniature import catalogue

SCHEMAS = yaml.safe_load(Path(__file__).with_name("schemas.yaml").read_text())
CONFIGS = [(repository, config) for repository, configs in SCHEMAS.items() for config in configs]


def format_feature(feature):
    """Format a feature like the expected schemas."""
    if isinstance(feature, ClassLabel):
        return " or ".join(feature.names)
    if isinstance(feature, List):
        return [format_feature(feature.feature)]
    if isinstance(feature, Value):
        return feature.dtype
    return {name: format_feature(inner) for name, inner in feature.items()}


@pytest.fixture
def load(world, tmp_path):
    return lambda name, config: load_dataset(
        str(world / "datasets" / name), config, cache_dir=str(tmp_path)
    )


@pytest.mark.parametrize(("repository", "config"), CONFIGS, ids=lambda part: part.split("/")[-1])
def test_columns_and_splits(load, repository, config):
    dataset = load(repository, config)
    expected = SCHEMAS[repository][config]
    assert set(dataset) == set(expected["splits"])
    assert format_feature(dict(dataset[expected["splits"][0]].features)) == expected["columns"]


def test_dataset_manifests(world):
    folders = {path.parent for path in world.glob("datasets/*/*/manifest.json")}
    assert folders == {world / "datasets" / name for name in catalogue.DATASETS}
    for folder in folders:
        manifest = read_manifest(folder / "manifest.json")
        assert (manifest.source, manifest.licence) == ("miniature", "apache-2.0")
        assert describe_damage(folder, manifest) == []


@pytest.mark.parametrize(
    ("name", "config", "column", "withheld"),
    [
        ("nyu-mll/glue", "sst2", "label", -1),
        ("Rowan/hellaswag", "default", "label", ""),
        ("tau/commonsense_qa", "default", "answerKey", ""),
    ],
)
def test_answers_are_withheld(load, name, config, column, withheld):
    assert set(load(name, config)["test"][column]) == {withheld}


def test_gsm8k_answer_format(load):
    for row in load("openai/gsm8k", "main")["test"]:
        steps, result = row["answer"].rsplit("\n#### ", 1)
        marked = [step.split(">>")[0] for step in steps.split("<<")[1:]]
        assert all(eval(step.split("=")[0]) == int(step.split("=")[1]) for step in marked)
        assert marked[-1].endswith(f"={result}")
