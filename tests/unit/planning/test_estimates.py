"""Estimates of jobs: by hand, by what changes them, and by what a run of the demo took."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.unit.settings.merged import load
from workflow_scripts.planning.estimates import Need, Planner
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.served import Served
from workflow_scripts.settings.settings import Settings

LARGE, TINY, LARGER = "Qwen/Qwen2.5-14B", "EleutherAI/pythia-70m-deduped", "org/70B"
PARAMETERS, LAYERS = 14_770_033_664, 48  # of LARGE
GPUS: dict[str, Any] = {
    "source": "huggingface",
    "compute": {"device": "cuda", "dtype": "bfloat16"},
    "prompts": {"models": []},
    "chunking": {"checkpoints": []},
}
A100 = 312e12 * 0.35  # FLOP/s
WIDTH = (PARAMETERS / 12 / LAYERS) ** 0.5


def load_gpu_settings(**sections) -> Settings:
    """Load settings for models on GPUs of 80 GB."""
    harmony = {"models": [TINY, LARGE], "max_test_items": None} | sections.pop("harmony", {})
    return load(GPUS | {"harmony": harmony} | sections)


def make_planner(**sections) -> Planner:
    return Planner(load_gpu_settings(**sections))


def test_evaluation_by_hand():
    """Compare with 10,042 items of hellaswag, of 180 tokens each."""
    work = load_gpu_settings().work["hellaswag"]
    tokens = work.test_items * work.test_tokens
    need = make_planner().evaluation(LARGE, ("hellaswag",))
    loading = 12 + 2 * PARAMETERS / 0.5e9
    reading = 2 * PARAMETERS * tokens / A100
    assert need.seconds == pytest.approx(loading + 0.006 * work.test_items + reading)
    assert need.gpus == 1
    assert 1.2 * 29_540 < need.gpu_mb < 45_000
    assert need.mem_mb == pytest.approx(5_000 + 1.3 * 29_540, abs=1)


@pytest.mark.parametrize(
    ("recipe", "flops", "trained_mb"),
    [
        ({}, 4, 16 * 8 * LAYERS * 20 * WIDTH / 1e6),  # adapters
        ({"method": "full"}, 6, 16 * PARAMETERS / 1e6),
    ],
)
def test_training_by_hand(recipe, flops, trained_mb):
    """Compare time and memory for 14 billion parameters, besides weights in 16 bits."""
    recipe |= {"gradient_checkpointing": "no", "max_validation_items": 1}
    work = load_gpu_settings().work["rte"]

    def estimate(epochs):
        recipes = {"published": recipe | {"epochs": epochs}}
        return make_planner(harmony={"recipes": recipes}).training_before_test(LARGE, ("rte",))

    first, second = estimate(1), estimate(2)
    epoch = flops * PARAMETERS * work.training_items * work.training_tokens / A100
    assert second.seconds - first.seconds == pytest.approx(epoch, rel=0.02)
    length = 4 * work.training_tokens
    other_mb = 1_500 + (length * WIDTH * 100 * LAYERS + length * 16 * 150_000) / 1e6
    assert first.gpu_mb == pytest.approx(29_540 + trained_mb + other_mb, rel=0.001)


def test_evaluation_several_gpus():
    settings = load_gpu_settings(cluster={"gpus_per_node": 4})
    size = {"parameters": 70_600_000_000, "layers": 80, "model": LARGER}
    settings.models[LARGER] = settings.models[LARGE].model_copy(update=size)
    need = Planner(settings).evaluation(LARGER, ("hellaswag",))
    assert need.gpus == 4
    assert 141_200 / 4 < need.gpu_mb < 80_000
    mixture = settings.models[LARGER].model_copy(update={"active_parameters": 7_000_000_000})
    settings.models[LARGER] = mixture
    assert Planner(settings).evaluation(LARGER, ("hellaswag",)).seconds < need.seconds / 2


def test_served_model():
    settings = load_gpu_settings()
    settings.served[LARGE] = Served(endpoint="http://node7:8000/v1")
    need = Planner(settings).evaluation(LARGE, ("hellaswag",))
    assert (need.gpus, need.gpu_mb) == (0, 0) and need.mem_mb < 4_000


def test_retry_limits():
    """Time and memory grow with each retry, and stop at what the cluster has."""
    cluster = Cluster(max_job_hours=2, node_memory_gb=20, time_safety_factor=2.0)
    need, attempts = Need(seconds=600, mem_mb=10_000), (1, 2, 3, 4)
    minutes = [need.get_time_limit_minutes(attempt, cluster) for attempt in attempts]
    assert minutes == [30, 60, 120, 120]
    memory = [need.get_memory_limit_mb(attempt, cluster) for attempt in attempts]
    assert memory == [10_000, 15_000, 20_000, 20_000]


def test_work_table():
    settings = load({})
    assert set(settings.work) == set(settings.tasks)
    for name, row in settings.work.items():
        assert bool(row.training_items) == settings.task(name).training, name


def test_demo_measurements():
    """Compare with the seconds and peak megabytes of a run on two cores."""
    settings = load({})
    own, tasks = Planner(settings), tuple(settings.harmony.tasks)
    study = "miniature/Qwen2-1M-Instruct"
    needs = {
        "evaluate_direct": own.evaluation(study, tasks),
        "train_before_test": own.training_before_test(study, tasks),
        "evaluate_mmlu": own.mmlu(study),
        "train_checkpoint": own.stage(f"{study}@k2m12+cpt+sft"),
        "measure_perplexity": own.perplexity(study, 21),
        "ask_prompt_run": own.prompt_run("miniature/Llama-1.4M-Instruct", "run6"),
    }
    measured = pd.read_csv(Path(__file__).with_name("measured.tsv"), sep="\t", index_col="rule")
    assert set(measured.index) == set(needs)
    for rule, need in needs.items():
        seconds, peak_mb = measured.loc[rule, ["s", "max_rss"]]
        assert need.seconds / 2 < seconds < 2 * need.seconds, rule
        assert peak_mb < need.mem_mb < 4 * peak_mb, rule
