"""What several GPUs that share a model out need: the plan's numbers, as docs/planning.md works them out by hand."""

import re

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.machine import Machine
from workflow_scripts.planning.memory import CUDA_MB, DEVICE_MB, training_bytes
from workflow_scripts.planning.needs import Planner
from workflow_scripts.settings.load import Settings, load_settings

LARGE, LARGER = "Qwen/Qwen2.5-14B", "meta-llama/Llama-3.1-70B"
RECIPES = {LARGE: "sft-full", LARGER: "sft-lora"}


def settings_of(model: str, **recipe) -> Settings:
    """For training this model on eight GPUs of 80 GB."""
    shared = {RECIPES[model]: {"gpus": 8, "sharded": True} | recipe}
    config = {
        "source": "huggingface",
        "compute": {"dtype": "bfloat16", "device": "cuda"},
        "harmony": {"models": ["EleutherAI/pythia-70m-deduped"]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": []},
        "training": {"cpt": RECIPES[model], "sft": None, "recipes": shared},
    }
    settings = load_settings(merged(config), ROOT)
    smaller = settings.models["meta-llama/Llama-3.1-8B"]
    size = {"model": LARGER, "parameters": 70_553_706_496, "layers": 80}
    models = settings.models | {LARGER: smaller.model_copy(update=size)}
    return settings.model_copy(update={"models": models})


def need_of(model: str, **recipe):
    layers = settings_of(model).models[model].layers
    return Planner(settings_of(model, **recipe)).stage(f"{model}@k2m{layers // 2}+cpt")


def documented() -> dict[str, list[float]]:
    """The lines of the table, in GB."""
    text = (ROOT / "docs/planning.md").read_text(encoding="utf-8")
    table = text.split("## Two trainings on eight GPUs, line by line")[1].split("\n## ")[0]
    lines = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ") or line.startswith("|**")
    ]
    return {
        name: [float(cell.replace(",", "")) for cell in cells[-2:]]
        for name, *cells in lines
        if re.fullmatch(r"[\d,.]+", cells[-1])
    }


@pytest.mark.parametrize(("at", "model"), enumerate(RECIPES))
def test_the_docs_work_out_what_the_plan_says(at, model):
    settings, need = settings_of(model), need_of(model)
    keys = settings.training.recipes[RECIPES[model]]
    size = Machine(settings).model(model).size
    method = "full" if keys.method == "full" else "lora"
    shape = {"in_pieces": False, "among": 8}
    line = (size, method, "bfloat16", keys.max_length, keys.lora_rank)
    parts = training_bytes(*line, checkpointed=True, **shape)
    trained = size.trained(method, keys.lora_rank)
    expected = {
        "width": size.width,
        "trained, in billions": trained / 1e9,
        **{name: value / 1e9 for name, value in parts.items()},
        "CUDA": DEVICE_MB / 1e3,
        "one GPU": need.gpu_mb / 1e3,
        "activations of all layers": training_bytes(*line, **shape)["activations"] / 1e9,
        "host, processes": 8 * CUDA_MB / 1e3,
        "host, weights": need.mem_mb / 1e3 - 8 * CUDA_MB / 1e3,
        "the node": need.mem_mb / 1e3,
        "disk": need.disk_mb / 1e3,
    }
    found = {name: values[at] for name, values in documented().items()}
    assert found == pytest.approx(expected, abs=0.051)
    assert need.gpus == 8 and need.gpu_mb < 80_000 and need.mem_mb < 500_000
    assert found["one GPU"] == pytest.approx(sum(found[n] for n in [*parts, "CUDA"]), abs=0.3)


def test_what_is_not_shared_out_does_not_fit():
    """Nor do activations become fewer with more GPUs: each has a row of its own."""
    assert need_of(LARGE, sharded=False).gpu_mb > 3 * 80_000
    eight, sixteen = need_of(LARGE), need_of(LARGE, gpus=16)
    held = 16 * 14.77e9 / 1e6  # of a trained parameter
    assert eight.gpu_mb - sixteen.gpu_mb == pytest.approx(held / 8 - held / 16, rel=0.01)


def test_a_second_node_takes_its_own_copy_and_memory_is_counted_of_one():
    one, two = need_of(LARGE), need_of(LARGE, gpus=16, nodes=2)
    assert (two.gpus, two.nodes, two.gpu_mb, two.mem_mb) == (16, 2, one.gpu_mb, one.mem_mb)
    assert two.seconds < 0.6 * one.seconds
