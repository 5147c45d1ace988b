"""Loading: every config of the repository is valid, and what comes out is what rules need."""

import pytest
import yaml

from tests.processes import python
from tests.unit.settings.merged import CONFIGS, ROOT, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.requests import published_tables

MODEL = "miniature/Qwen2-1M-Instruct"


def load_file(config: str):
    return load(yaml.safe_load((ROOT / f"config/{config}.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_of_the_repository_loads(path):
    load_file(path.stem)


def test_the_paper_asks_the_published_grid_and_all_questions():
    settings = load_file("paper")
    assert (len(settings.harmony.models), len(settings.harmony.tasks)) == (61, 24)
    published = "mlp.none-adapters4864-init.normal"
    choices = (published, "mean", "noadapters", "distil.hidden", "distil.logits", "distil.both")
    variants = {f"{plan}-{choice}" for plan in ("k2m12", "k2m6") for choice in choices}
    assert set(settings.checkpoints()) == {
        f"Qwen/Qwen2.5-0.5B-Instruct@{plan}" for plan in variants | {"k2m12", "k2m6", "k0m0"}
    }
    assert settings.mmlu.max_items_per_subject is settings.prompts.max_items_per_subject is None


def test_published_checkpoints_stand_beside_their_own_tables():
    settings = load_file("published_checkpoints")
    trained = "DongfuJiang/qwen2_chunking_mlp_freeze_uniform_with_shared_start_and_end_2_{}_sft"
    tables = published_tables(settings)
    assert {checkpoint: table for checkpoint, table in tables.items() if table} == {
        "Qwen/Qwen2.5-0.5B-Instruct": "mmlu_baseline",
        trained.format(12): "mmlu_k2m12_cpt_sft",
        trained.format(6): "mmlu_k2m6_cpt_sft",
    }
    assert not settings.trained_checkpoints()


def test_mmlu_is_asked_of_each_model_once_and_of_its_chunked_variants():
    settings = load({"mmlu": {"models": ["miniature/Qwen2-1M", MODEL]}})
    choices = ("mean", "mlp.none", "noadapters", "distil.both")
    assert [str(checkpoint) for checkpoint in settings.mmlu_checkpoints()] == [
        MODEL,
        "miniature/Qwen2-1M",
        *(
            f"{MODEL}@{plan}{stage}"
            for plan in ("k2m12", "k2m6", *(f"k2m12-{choice}" for choice in choices))
            for stage in ("", "+cpt", "+cpt+sft")
        ),
    ]
    assert load({"chunking": {"checkpoints": []}}).mmlu_checkpoints() == []


def test_each_token_budget_is_a_stage_of_chunks_and_of_dropped_layers(here):
    (here / "mine.txt").touch()
    checkpoints = [
        {"model": MODEL, "num_layers_per_chunk": 6},
        {"model": MODEL, "mode": "prune", "layers_to_prune": [3, 4]},
        {"model": MODEL, "num_layers_per_chunk": 0, "mode": "uniform"},
    ]
    data = {"data": "text", "files": ["mine.txt"], "max_length": 128, "batch_size": 8}
    training = {"cpt": "own", "sft": None, "cpt_tokens": [4, 2], "recipes": {"own": data}}
    chunking = {"checkpoints": checkpoints}
    settings = load({"chunking": chunking, "training": training})
    stages = ("+cpt.2k", "+cpt.4k")
    assert [str(checkpoint) for checkpoint in settings.staged_checkpoints()] == [
        MODEL,
        *(f"{MODEL}@{plan}{stage}" for plan in ("k2m6", "prune3-4") for stage in ("", *stages)),
        *(f"{MODEL}@k0m0{stage}" for stage in stages),
    ]
    name, recipe = settings.stage_recipe("cpt.4k")
    assert (name, recipe.max_steps) == ("own", 4)


def test_a_model_that_is_trained_as_it_is_may_be_named_wherever_models_are():
    model = "miniature/Pythia-0.1M"
    named = {"models": [f"{model}+tuned"]}
    training = {"models": [model], "tuned": "sft-full"}
    settings = load({"training": training, "harmony": named, "mmlu": named})
    assert str(settings.trained_checkpoints()[-1]) == f"{model}+tuned"
    assert settings.stage_recipe("tuned")[0] == "sft-full"
    assert f"{model}+tuned" in map(str, settings.mmlu_checkpoints())
    for wrong, problem in (
        ({"training": {"models": [model]}}, "models are named and tuned is null"),
        ({"training": training | {"tuned": "miniature-sft"}}, "which trains chunks"),
        ({"mmlu": named}, r"mmlu.models has 'miniature/Pythia-0.1M\+tuned'; expected a checkpoint"),
    ):
        with pytest.raises(UserError, match=problem):
            load(wrong)


def test_files_of_the_working_directory_come_before_those_beside_the_snakefile(here):
    (here / "config").mkdir()
    (here / "config/tasks.tsv").write_text("task\nsst2\n")
    with pytest.raises(UserError, match=r"^config/tasks.tsv, line 2: harness: Field required"):
        load({})


def test_loading_stays_light():
    """The Snakefile is parsed by every job, so neither torch nor pandas may come along."""
    code = "import sys, workflow_scripts.settings.load; print(*sys.modules)"
    heavy = {"torch", "transformers", "numpy", "pandas", "snakemake"}
    assert heavy & set(python(code).split()) == set()
