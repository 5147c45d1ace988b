"""Test loading settings: every config of the repository is valid, and rules get the right values."""

import pytest
import yaml

from tests.processes import python
from tests.unit.settings.merged import CONFIGS, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.mmlu import find_published_table

MODEL = "miniature/Qwen2-1M-Instruct"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_repository_config(path):
    """Each config is valid, and published checkpoints have a published table for comparison."""
    settings = load(yaml.safe_load(path.read_text(encoding="utf-8")))
    if path.stem == "paper":
        assert (len(settings.harmony.models), len(settings.harmony.tasks)) == (61, 24)
        assert settings.mmlu.max_items_per_subject is settings.prompts.max_items_per_subject is None
    if path.stem == "published_checkpoints":
        tables = {
            find_published_table(checkpoint, settings.source)
            for checkpoint in settings.list_mmlu_checkpoints()
        }
        assert tables >= {"mmlu_baseline", "mmlu_k2m12_cpt_sft", "mmlu_k2m6_cpt_sft"}


def test_stage_checkpoints(here):
    """Each number of training tokens has its own stage, and each model is listed once."""
    (here / "mine.txt").touch()
    checkpoints = [
        {"model": MODEL, "num_layers_per_chunk": 6},
        {"model": MODEL, "num_layers_per_chunk": 0, "mode": "uniform"},
    ]
    data = {"data": "text", "files": ["mine.txt"], "max_length": 128, "batch_size": 8}
    training = {"cpt": "own", "sft": None, "cpt_tokens": [4, 2], "recipes": {"own": data}}
    mmlu = {"models": ["miniature/Qwen2-1M", MODEL]}
    settings = load({"chunking": {"checkpoints": checkpoints}, "training": training, "mmlu": mmlu})
    assert [str(checkpoint) for checkpoint in settings.list_mmlu_checkpoints()] == [
        *(MODEL, "miniature/Qwen2-1M"),
        *(f"{MODEL}@k2m6{stage}" for stage in ("", "+cpt.2k", "+cpt.4k")),
        *(f"{MODEL}@k0m0{stage}" for stage in ("+cpt.2k", "+cpt.4k")),
    ]
    name, recipe = settings.get_stage_recipe("cpt.4k")
    assert (name, recipe.max_steps) == ("own", 4)


def test_tuned_model():
    """A model fine-tuned without chunking may be named wherever models are."""
    model = "miniature/Pythia-0.1M"
    tuned = {"models": [f"{model}+tuned"]}
    training = {"models": [model], "tuned": "sft-full"}
    settings = load({"training": training, "harmony": tuned, "mmlu": tuned})
    assert str(settings.list_compared_checkpoints()[-1]) == f"{model}+tuned"
    assert settings.get_stage_recipe("tuned")[0] == "sft-full"
    with pytest.raises(UserError, match=r"mmlu.models has 'miniature/Pythia-0.1M\+tuned'"):
        load({"mmlu": tuned})


def test_miniature_world_is_float32():
    settings = load({})
    recipes = [settings.harmony.recipes["published"], settings.training.recipes["cpt"]]
    assert settings.compute.dtype == "float32"
    assert {recipe.precision for recipe in recipes} == {"float32"}


def test_working_directory_file_precedence(here):
    (here / "config").mkdir()
    (here / "config/tasks.tsv").write_text("task\nsst2\n")
    with pytest.raises(UserError, match=r"^config/tasks.tsv, line 2: harness: Field required"):
        load({})


def test_load_imports():
    """Loading settings imports neither torch nor pandas, because every job parses the Snakefile."""
    code = "import sys, workflow_scripts.settings.load; print(*sys.modules)"
    heavy = {"torch", "transformers", "numpy", "pandas", "snakemake"}
    assert heavy & set(python(code).split()) == set()
