"""Loading: every config of the repository is valid, and what comes out is what rules need."""

import pytest
import yaml

from tests.processes import python
from tests.unit.settings.merged import CONFIGS, ROOT, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.requests import published_tables


def named(config: str):
    return load(yaml.safe_load((ROOT / f"config/{config}.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_of_the_repository_loads(path):
    load(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_paper_runs_the_published_grid_and_plans():
    settings = named("paper")
    assert (len(settings.harmony.models), len(settings.harmony.tasks)) == (61, 24)
    assert all(settings.task(name).training for name in settings.harmony.tasks)
    published = "mlp.none-adapters4864-init.normal"
    choices = (published, "mean", "noadapters", "distil.hidden", "distil.logits", "distil.both")
    variants = {f"{plan}-{choice}" for plan in ("k2m12", "k2m6") for choice in choices}
    assert set(settings.checkpoints()) == {
        f"Qwen/Qwen2.5-0.5B-Instruct@{plan}" for plan in variants | {"k2m12", "k2m6", "k0m0"}
    }


def test_the_exact_paper_is_the_papers_grid_by_the_published_protocol():
    paper, exact = (named(name).harmony for name in ("paper", "paper_exact"))
    assert (exact.models, exact.tasks) == (paper.models, paper.tasks)
    recipe, affordable = exact.task_recipe("huggingface"), paper.task_recipe("huggingface")
    assert (recipe.precision, affordable.precision) == ("float32", "auto")
    assert (recipe.training_text, recipe.choose_on_test) == ("published", True)
    assert (exact.draws, paper.draws) == ("published", "own")


def test_the_paper_asks_all_mmlu_questions_and_the_published_model_in_all_prompt_runs():
    settings = named("paper")
    assert (settings.mmlu.max_items_per_subject, settings.mmlu.shots) == (None, 5)
    assert settings.prompts.models == ("meta-llama/Llama-3.2-1B-Instruct",)
    assert settings.prompts.max_items_per_subject is None
    assert len(settings.prompt_runs) >= 10


def test_published_checkpoints_stand_beside_their_own_tables():
    settings = named("published_checkpoints")
    trained = "DongfuJiang/qwen2_chunking_mlp_freeze_uniform_with_shared_start_and_end_2_{}_sft"
    tables = published_tables(settings)
    assert {checkpoint: table for checkpoint, table in tables.items() if table} == {
        "Qwen/Qwen2.5-0.5B-Instruct": "mmlu_baseline",
        trained.format(12): "mmlu_k2m12_cpt_sft",
        trained.format(6): "mmlu_k2m6_cpt_sft",
    }
    assert "DongfuJiang/Qwen2.5-0.5B-Instruct" in settings.mmlu.models
    assert (settings.mmlu.prompt, settings.mmlu.max_items_per_subject) == ("published", None)
    assert not settings.trained_checkpoints()


def test_the_grid_is_the_whole_miniature_world():
    settings = named("grid")
    generated = [name for name, row in settings.models.items() if row.source == "miniature"]
    assert list(settings.harmony.models) == generated
    assert len(settings.harmony.tasks) == 26


def test_mmlu_is_asked_of_each_model_once_and_of_its_chunked_variants():
    model = "miniature/Qwen2-1M-Instruct"
    settings = load({"mmlu": {"models": ["miniature/Qwen2-1M", model]}})
    asked = [str(checkpoint) for checkpoint in settings.mmlu_checkpoints()]
    choices = ("mean", "mlp.none", "noadapters", "distil.both")
    stages = [
        f"{model}@{plan}{stage}"
        for plan in ("k2m12", "k2m6", *(f"k2m12-{choice}" for choice in choices))
        for stage in ("", "+cpt", "+cpt+sft")
    ]
    assert asked == [model, "miniature/Qwen2-1M", *stages]
    assert load({"chunking": {"checkpoints": []}}).mmlu_checkpoints() == []


def test_each_token_budget_is_a_stage_of_chunks_and_of_dropped_layers():
    model = "miniature/Qwen2-1M-Instruct"
    chunks = {"model": model, "num_layers_per_chunk": 6}
    pruned = {"model": model, "mode": "prune", "layers_to_prune": [3, 4]}
    training = {"cpt": "own", "sft": None, "cpt_tokens": [4, 2]}
    data = {"data": "text", "dataset": "Salesforce/wikitext", "subset": "wikitext-103-raw-v1"}
    recipes = {"own": data | {"max_length": 128, "batch_size": 8}}
    settings = load(
        {
            "chunking": {"checkpoints": [chunks, pruned]},
            "training": training | {"recipes": recipes},
        }
    )
    assert [str(one) for one in settings.staged_checkpoints()] == [
        model,
        *(
            f"{model}@{plan}{stage}"
            for plan in ("k2m6", "prune3-4")
            for stage in ("", "+cpt.2k", "+cpt.4k")
        ),
    ]
    name, recipe = settings.stage_recipe("cpt.4k")
    assert (name, recipe.max_steps) == ("own", 4)


def test_a_model_that_is_trained_as_it_is_may_be_named_wherever_models_are():
    model = "miniature/Pythia-0.1M"
    named = {"models": [f"{model}+tuned"]}
    training = {"models": [model], "tuned": "sft-full"}
    settings = load({"training": training, "harmony": named, "mmlu": named})
    assert [str(one) for one in settings.trained_checkpoints()][-1] == f"{model}+tuned"
    assert settings.stage_recipe("tuned")[0] == "sft-full"
    assert f"{model}+tuned" in map(str, settings.mmlu_checkpoints())
    for wrong, said in (
        ({"training": {"models": [model]}}, "models are named and tuned is null"),
        ({"training": training | {"tuned": "miniature-sft"}}, "which trains chunks"),
        (
            {"mmlu": named},
            r"mmlu.models has 'miniature/Pythia-0.1M\+tuned'; expected a checkpoint",
        ),
    ):
        with pytest.raises(UserError, match=said):
            load(wrong)


def test_checkpoints_bear_their_plan_and_mode():
    model = "miniature/Qwen2-1M-Instruct"
    settings = load(
        {
            "chunking": {
                "checkpoints": [
                    {"model": model, "num_layers_per_chunk": 6},
                    {"model": model, "num_layers_per_chunk": 6, "mode": "sequential"},
                    {"model": model, "mode": "prune", "layers_to_prune": [24]},
                    {"model": model, "num_layers_per_chunk": 0, "mode": "uniform"},
                ]
            }
        }
    )
    assert list(settings.checkpoints()) == [
        f"{model}@k2m6",
        f"{model}@k4m6-sequential",
        f"{model}@prune24",
        f"{model}@k0m0",
    ]


def test_files_of_the_working_directory_come_before_those_beside_the_snakefile(here):
    (here / "mine.csv").write_text("model,task\n")
    assert load({"harmony": {"imported_scores": ["mine.csv"]}}).harmony.imported_scores == (
        "mine.csv",
    )
    (here / "config").mkdir()
    (here / "config/tasks.tsv").write_text("task\nsst2\n")
    with pytest.raises(UserError, match=r"^config/tasks.tsv, line 2: harness: Field required"):
        load({})


def test_loading_stays_light():
    """The Snakefile is parsed by every job, so neither torch nor pandas may come along."""
    code = "import sys, workflow_scripts.settings.load; print(*sys.modules)"
    heavy = {"torch", "transformers", "numpy", "pandas", "snakemake"}
    assert heavy & set(python(code).split()) == set()
