"""What an evaluation over several GPUs needs: the plan's numbers, docs/planning.md's, and the same by hand."""

import math
import re

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.machine import Machine
from workflow_scripts.planning.needs import Planner
from workflow_scripts.settings.load import Settings, load_settings

LARGER, LAYERS, VOCABULARY, PARAMETERS = "meta-llama/Llama-3.1-70B", 80, 128_256, 70_553_706_496
CUDA = 1.5


def settings_of(gpus_per_node: int) -> Settings:
    config = {
        "source": "huggingface",
        "compute": {"dtype": "bfloat16", "device": "cuda", "batch_size": 16},
        "cluster": {"gpus_per_node": gpus_per_node},
        "harmony": {"models": ["EleutherAI/pythia-70m-deduped"]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": []},
    }
    settings = load_settings(merged(config), ROOT)
    smaller = settings.models["meta-llama/Llama-3.1-8B"]
    size = {"model": LARGER, "parameters": PARAMETERS, "layers": LAYERS}
    models = settings.models | {LARGER: smaller.model_copy(update=size)}
    return settings.model_copy(update={"models": models})


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


def test_an_evaluation_s_lines_are_those_of_the_plan():
    parameters, layers, vocabulary = PARAMETERS, LAYERS, VOCABULARY
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
        settings = settings_of(gpus_per_node=cards)
        need = Planner(settings).evaluation(LARGER, ("hellaswag",))
        assert need.gpu_mb / 1e3 == pytest.approx(expected["one GPU"], abs=0.002)
        assert need.mem_mb / 1e3 == pytest.approx(expected["host"], abs=0.002)
        refused = Machine(settings).model(LARGER).smallest_mb > 80_000
        assert (need.gpus, refused) == (cards, there == 1)
