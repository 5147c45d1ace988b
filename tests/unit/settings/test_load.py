"""Loading: every config of the repository is valid, and what comes out is what rules need."""

import pytest
import yaml

from tests.processes import python
from tests.unit.settings.merged import CONFIGS, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.requests import name_published_tables

MODEL = "miniature/Qwen2-1M-Instruct"


@pytest.fixture(scope="module")
def configs():
    """The settings of every config of the repository, by its name."""
    return {path.stem: load(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in CONFIGS}


def test_repository_configs(configs):
    paper = configs["paper"]
    assert (len(paper.harmony.models), len(paper.harmony.tasks)) == (61, 24)
    assert len(paper.checkpoints()) == 15
    assert paper.mmlu.max_items_per_subject is paper.prompts.max_items_per_subject is None
    trained = "DongfuJiang/qwen2_chunking_mlp_freeze_uniform_with_shared_start_and_end_2_{}_sft"
    tables = name_published_tables(configs["published_checkpoints"])
    assert {checkpoint: table for checkpoint, table in tables.items() if table} == {
        "Qwen/Qwen2.5-0.5B-Instruct": "mmlu_baseline",
        trained.format(12): "mmlu_k2m12_cpt_sft",
        trained.format(6): "mmlu_k2m6_cpt_sft",
    }


def test_stage_checkpoints(here):
    """A stage for each number of tokens; a model once, however often it is named."""
    (here / "mine.txt").touch()
    checkpoints = [
        {"model": MODEL, "num_layers_per_chunk": 6},
        {"model": MODEL, "mode": "prune", "layers_to_prune": [3, 4]},
        {"model": MODEL, "num_layers_per_chunk": 0, "mode": "uniform"},
    ]
    data = {"data": "text", "files": ["mine.txt"], "max_length": 128, "batch_size": 8}
    training = {"cpt": "own", "sft": None, "cpt_tokens": [4, 2], "recipes": {"own": data}}
    mmlu = {"models": ["miniature/Qwen2-1M", MODEL]}
    settings = load({"chunking": {"checkpoints": checkpoints}, "training": training, "mmlu": mmlu})
    stages = ("+cpt.2k", "+cpt.4k")
    variants = [f"@{plan}{stage}" for plan in ("k2m6", "prune3-4") for stage in ("", *stages)]
    variants += [f"@k0m0{stage}" for stage in stages]
    assert [str(checkpoint) for checkpoint in settings.list_mmlu_checkpoints()] == [
        *(MODEL, "miniature/Qwen2-1M"),
        *(f"{MODEL}{variant}" for variant in variants),
    ]
    name, recipe = settings.get_stage_recipe("cpt.4k")
    assert (name, recipe.max_steps) == ("own", 4)


def test_tuned_model():
    """A model that is trained as it is may be named wherever models are."""
    model = "miniature/Pythia-0.1M"
    tuned = {"models": [f"{model}+tuned"]}
    training = {"models": [model], "tuned": "sft-full"}
    settings = load({"training": training, "harmony": tuned, "mmlu": tuned})
    assert str(settings.list_trained_checkpoints()[-1]) == f"{model}+tuned"
    assert settings.get_stage_recipe("tuned")[0] == "sft-full"
    with pytest.raises(
        UserError, match=r"mmlu.models has 'miniature/Pythia-0.1M\+tuned'; expected"
    ):
        load({"mmlu": tuned})


def test_working_directory_file_precedence(here):
    (here / "config").mkdir()
    (here / "config/tasks.tsv").write_text("task\nsst2\n")
    with pytest.raises(UserError, match=r"^config/tasks.tsv, line 2: harness: Field required"):
        load({})


def test_load_imports():
    """The Snakefile is parsed by every job, so neither torch nor pandas may come along."""
    code = "import sys, workflow_scripts.settings.load; print(*sys.modules)"
    heavy = {"torch", "transformers", "numpy", "pandas", "snakemake"}
    assert heavy & set(python(code).split()) == set()


def test_miniature_is_float32():
    """Numbers of the miniature world are the same everywhere, those of its trainings too."""
    settings = load({})
    recipes = {**settings.training.recipes, **settings.harmony.recipes}
    precisions = {keys.precision for name, keys in recipes.items() if "miniature" in name}
    assert {settings.compute.dtype, *precisions} == {"float32"}
    assert load({"compute": {"dtype": "bfloat16"}}).compute.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("source", "device", "program", "on_gpus"),
    [
        ("huggingface", "cuda", "bash", True),
        ("huggingface", "cpu", "nvidia-smi", False),
        ("huggingface", "auto", "nvidia-smi", True),
        ("huggingface", "auto", "sbatch", True),  # a login node
        ("huggingface", "auto", "bash", False),  # a laptop
        ("miniature", "cuda", "nvidia-smi", False),
    ],
)
def test_on_gpus(source, device, program, on_gpus, monkeypatch, tmp_path):
    (tmp_path / program).touch(mode=0o755)
    settings = load({"compute": {"device": device}}).model_copy(update={"source": source})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert settings.on_gpus == on_gpus
