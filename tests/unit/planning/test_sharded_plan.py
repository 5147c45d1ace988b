"""What models larger than a GPU need: the plan's numbers, as docs/planning.md works them out, and as by hand here."""

import math
import re

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.machine import Machine
from workflow_scripts.planning.needs import Planner
from workflow_scripts.settings.load import Settings, load_settings

LARGE, LARGER = "Qwen/Qwen2.5-14B", "meta-llama/Llama-3.1-70B"
RECIPES = {LARGE: "sft-full", LARGER: "sft-lora"}
# Of both: parameters, layers, vocabulary, and the samples of a step.
SHAPES = {LARGE: (14_770_033_664, 48, 152_000, 16), LARGER: (70_553_706_496, 80, 128_256, 8)}
TOKENS, SAMPLES, OF_A_SAMPLE = 2_048, 100_000, 450
CUDA = 1.5


def settings_of(model: str, gpus_per_node: int = 8, **recipe) -> Settings:
    """For training this model on eight GPUs of 80 GB."""
    shared = {RECIPES[model]: {"gpus": 8, "sharded": True} | recipe}
    config = {
        "source": "huggingface",
        "compute": {"dtype": "bfloat16", "device": "cuda", "batch_size": 16},
        "cluster": {"gpus_per_node": gpus_per_node},
        "harmony": {"models": ["EleutherAI/pythia-70m-deduped"]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": []},
        "training": {"cpt": RECIPES[model], "sft": None, "recipes": shared},
    }
    settings = load_settings(merged(config), ROOT)
    smaller = settings.models["meta-llama/Llama-3.1-8B"]
    size = {"model": LARGER, "parameters": SHAPES[LARGER][0], "layers": 80}
    models = settings.models | {LARGER: smaller.model_copy(update=size)}
    return settings.model_copy(update={"models": models})


def need_of(model: str, marks: str = "", **recipe):
    layers = settings_of(model).models[model].layers
    name = f"{model}@k2m{layers // 2}{marks}+cpt"
    return Planner(settings_of(model, **recipe)).stage(name)


def documented(title: str) -> list[dict[str, float]]:
    """The lines of a table, of each of its two last columns."""
    text = (ROOT / "docs/planning.md").read_text(encoding="utf-8")
    table = text.split(f"## {title}")[1].split("\n## ")[0]
    lines = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ") or line.startswith("|**")
    ]
    numbers = [(name, cells[-2:]) for name, *cells in lines if re.fullmatch(r"[\d,.]+", cells[-1])]
    return [{name: float(cells[at].replace(",", "")) for name, cells in numbers} for at in (0, 1)]


def by_hand(model: str) -> dict[str, float]:
    """Of one GPU of eight, in GB and hours; all weights, or adapters of rank 8 in all linear layers."""
    parameters, layers, vocabulary, batch = SHAPES[model]
    width, is_full = math.ceil(math.sqrt(parameters / (12 * layers))), model == LARGE
    trained = parameters if is_full else 8 * layers * 20 * width
    kept = 60 if is_full else 95
    output, layer = vocabulary * width, parameters / layers
    steps = 0.9 * SAMPLES / batch
    bytes_of = {
        "weights": 4 * trained / 8 if is_full else 4 * trained + 2 * parameters / 8,
        "gradients and moments": 12 * trained / (8 if is_full else 1),
        "gathered": 2 * (2 * layer + output) + (6 * max(layer, output) if is_full else 0),
        "activations": 1.25 * TOKENS * width * (kept + 2 * layers),
        "logits": 1.25 * TOKENS * vocabulary * 16,
        "CUDA": CUDA * 1e9,
    }
    gb = {name: number / 1e9 for name, number in bytes_of.items()}
    host = 1.3 * (2 * parameters + 4 * trained) / 1e9
    hours = {
        "hours, loading": (12 + 2 * parameters / 0.5e9) / 3600,
        "hours, training": ((6 if is_full else 4) + 2) * parameters * 0.9 * SAMPLES * OF_A_SAMPLE
        / (0.35 * 8 * 312e12) / 3600,
        "hours, evaluating": steps / 500 * 2 * parameters * 0.1 * SAMPLES * OF_A_SAMPLE
        / (0.3 * 8 * 312e12) / 3600,
    }  # fmt: skip
    return {
        "width": width,
        "trained, in billions": trained / 1e9,
        **gb,
        "one GPU": sum(gb.values()),
        "activations of all layers": 1.25e-9 * TOKENS * width * (kept + 2) * layers,
        "host, processes": 40,
        "host, weights": host,
        "the node": 40 + host,
        "disk": (24 * trained + 2 * parameters) / 1e9,
        **hours,
        "hours": sum(hours.values()),
    }


@pytest.mark.parametrize(("at", "model"), list(enumerate(RECIPES)))
def test_a_training_s_lines_are_those_of_the_plan(at, model):
    expected, need = by_hand(model), need_of(model)
    found = documented("Two trainings on eight GPUs, line by line")[at]
    hours = {name for name in expected if name.startswith("hours")}
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert value == pytest.approx(expected[name], abs=0.0051 if name in hours else 0.051), name
    assert need.gpus == 8
    assert need.gpu_mb / 1e3 == pytest.approx(expected["one GPU"], abs=0.002)
    assert need.mem_mb / 1e3 == pytest.approx(expected["the node"], abs=0.002)
    assert need.disk_mb / 1e3 == pytest.approx(expected["disk"], abs=0.002)
    assert need.seconds / 3600 == pytest.approx(expected["hours"], rel=1e-3)
    assert need.gpu_mb < 80_000 and need.mem_mb < 500_000


def test_an_evaluation_s_lines_are_those_of_the_plan():
    parameters, layers, vocabulary, _ = SHAPES[LARGER]
    width, batch = math.ceil(math.sqrt(parameters / (12 * layers))), 16
    found = documented("An evaluation on four GPUs, line by line")
    for lines, cards in zip(found, (4, 2), strict=True):
        expected = {
            "weights": 2e-9 * parameters / cards,
            "a layer more": 2e-9 * parameters / layers,
            "a batch": 1e-9 * batch * 4 * 180 * (8 * 2 * width + 2 * 2 * vocabulary),
        }
        expected["to spare"] = sum(expected.values()) / 10
        expected["CUDA"] = CUDA
        expected["one GPU"] = sum(expected.values())
        expected["host"] = 5 + 1.3 * 2e-9 * parameters
        assert lines == pytest.approx(expected, abs=0.051)
        there = cards if expected["one GPU"] < 80 else 1
        settings = settings_of(LARGER, gpus_per_node=cards)
        need = Planner(settings).evaluation(LARGER, ("hellaswag",))
        assert need.gpu_mb / 1e3 == pytest.approx(expected["one GPU"], abs=0.002)
        assert need.mem_mb / 1e3 == pytest.approx(expected["host"], abs=0.002)
        refused = Machine(settings).model(LARGER).smallest_mb > 80_000
        assert (need.gpus, refused) == (cards, there == 1)


def test_what_is_not_shared_out_does_not_fit():
    """Nor do activations become fewer with more GPUs: each has a row of its own."""
    assert need_of(LARGE, sharded=False).gpu_mb > 3 * 80_000
    eight, sixteen = need_of(LARGE), need_of(LARGE, gpus=16)
    held = 16 * 14.77e9 / 1e6  # of a trained parameter
    assert eight.gpu_mb - sixteen.gpu_mb == pytest.approx(held / 8 - held / 16, rel=0.01)


@pytest.mark.parametrize(
    ("trains", "share"),
    [
        (["layers 40 to 59"], 1 / 4),
        (["last 20 layers"], 1 / 4),
        (["chunked_layers"], 1),
        (["*norm*"], 0),
        (["*.mlp.*"], 2 / 3),
        (["layers 0 to 9", "last 10 layers"], 1 / 4),
        (["*.something of its own.*"], 1),
    ],
)
def test_adapters_beside_weights_count_both_and_keep_all_weights_exactly(trains, share):
    parameters, layers, vocabulary, _ = SHAPES[LARGER]
    alone, beside = need_of(LARGER), need_of(LARGER, trains=trains)
    # All are there in 4 bytes and not in 2, with 12 more of what is trained; shared out among eight. And the
    # output layer's gradient is gathered.
    more = (2 + 12 * share) * parameters / 8
    more += 6 * vocabulary * math.sqrt(parameters / (12 * layers))
    assert (beside.gpu_mb - alone.gpu_mb) * 1e6 == pytest.approx(more, rel=0.02)
    assert beside.seconds >= alone.seconds


def test_a_distilled_stage_takes_a_teacher_s_pass_and_its_logits():
    plain, taught = need_of(LARGE), need_of(LARGE, marks="-distil.both")
    parameters, _, vocabulary, _ = SHAPES[LARGE]
    seconds = 2 * parameters * 0.9 * SAMPLES * OF_A_SAMPLE / (0.35 * 8 * 312e12)
    assert taught.seconds - plain.seconds == pytest.approx(seconds, rel=1e-3)
    logits = 1.25e-6 * TOKENS * vocabulary * 40
    assert taught.gpu_mb - plain.gpu_mb == pytest.approx(logits, rel=1e-3)
    alone = {"sharded": False, "gpus": 1, "max_length": 16_384}
    assert need_of(LARGE, marks="-distil.both", **alone).gpu_mb <= need_of(LARGE, **alone).gpu_mb
