"""Estimates of jobs: by hand, by what changes them, and by what a run of the demo took."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.estimates import Need, Planner
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.settings.load import load_settings
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


def settings_of(**sections) -> Settings:
    """For models on GPUs of 80 GB."""
    harmony = {"models": [TINY, LARGE], "max_test_items": None} | sections.pop("harmony", {})
    return load_settings(merged(GPUS | {"harmony": harmony} | sections), ROOT)


def planner(**sections) -> Planner:
    return Planner(settings_of(**sections))


def before_test(model, task, **recipe) -> Need:
    cluster = {"gpu": recipe.pop("gpu", "A100-80GB")}
    harmony = {"models": [model], "recipes": {"published": recipe}}
    return planner(harmony=harmony, cluster=cluster).training_before_test(model, (task,))


def test_an_evaluation_by_hand():
    """10,042 items of hellaswag, of 180 tokens each."""
    work = settings_of().work["hellaswag"]
    tokens = work.test_items * work.test_tokens
    need = planner().evaluation(LARGE, ("hellaswag",))
    loading = 12 + 2 * PARAMETERS / 0.5e9
    reading = 2 * PARAMETERS * tokens / A100
    assert need.seconds == pytest.approx(loading + 0.006 * work.test_items + reading)
    assert need.gpus == 1
    assert 1.2 * 29_540 < need.gpu_mb < 45_000
    assert need.mem_mb == pytest.approx(5_000 + 1.3 * 29_540, abs=1)


@pytest.mark.parametrize(
    ("recipe", "flops"),
    [
        ({}, 4),
        ({"method": "full", "gradient_checkpointing": "no"}, 6),
        ({"method": "full", "gradient_checkpointing": "yes"}, 8),
        ({"gpu": "A100-40GB"}, 6),  # where the longest sample has no room otherwise
    ],
)
def test_training_by_hand(recipe, flops):
    """Of 14 billion parameters, five epochs of gsm8k."""
    work = settings_of().work["gsm8k"]

    def seconds(epochs):
        return before_test(LARGE, "gsm8k", **recipe, epochs=epochs, max_validation_items=1).seconds

    each = flops * PARAMETERS * work.training_items * work.training_tokens / A100
    generating = seconds(5) - seconds(4) - each
    assert 0 < generating < 0.02 * each or generating < 20


def test_memory_of_training_by_hand():
    """Adapters beside weights in 16 bits, or 16 bytes of what is trained and shared out among GPUs."""
    width = (PARAMETERS / 12 / LAYERS) ** 0.5
    length = 4 * settings_of().work["rte"].training_tokens
    beside = 1_500 + (length * width * 100 * LAYERS + length * 16 * 150_000) / 1e6
    adapters = 16 * 8 * LAYERS * 20 * width / 1e6
    once = {"gradient_checkpointing": "no"}
    assert before_test(LARGE, "rte", **once).gpu_mb == pytest.approx(
        29_540 + adapters + beside, rel=0.001
    )
    full = before_test(LARGE, "rte", method="full", **once)
    assert full.gpu_mb == pytest.approx(18 * PARAMETERS / 1e6 + beside, rel=0.001)


def test_what_one_gpu_does_not_hold_is_evaluated_over_several_of_a_node():
    settings = settings_of(cluster={"gpus_per_node": 4})
    size = {"parameters": 70_600_000_000, "layers": 80, "model": LARGER}
    settings.models[LARGER] = settings.models[LARGE].model_copy(update=size)
    need = Planner(settings).evaluation(LARGER, ("hellaswag",))
    assert need.gpus == 4
    assert 141_200 / 4 < need.gpu_mb < 80_000
    mixture = settings.models[LARGER].model_copy(update={"active_parameters": 7_000_000_000})
    settings.models[LARGER] = mixture
    assert Planner(settings).evaluation(LARGER, ("hellaswag",)).seconds < need.seconds / 2


def test_what_a_server_answers_needs_no_gpu():
    settings = settings_of()
    settings.served[LARGE] = Served(endpoint="http://node7:8000/v1")
    need = Planner(settings).evaluation(LARGE, ("hellaswag",))
    assert (need.gpus, need.gpu_mb) == (0, 0) and need.mem_mb < 4_000


def test_time_and_memory_grow_with_each_retry_and_stop_at_what_the_cluster_has():
    cluster = Cluster(longest_hours=2, node_memory_gb=20, reserve=2.0)
    need = Need(seconds=600, mem_mb=10_000)
    assert [need.time_limit_minutes(attempt, cluster) for attempt in (1, 2, 3, 4)] == [
        30,
        60,
        120,
        120,
    ]
    memory = [need.memory_limit_mb(attempt, cluster) for attempt in (1, 2, 3, 4)]
    assert memory == [10_000, 15_000, 20_000, 20_000]


def test_a_row_of_the_leaderboard_needs_what_its_tasks_take_and_a_stranger_what_is_planned_for_any():
    request = Request(name=TINY, precision="bfloat16", model_type="pretrained")
    own, one = planner(suite={"memory_mb": 64_000}), ("arc_challenge",)
    need = own.suite_row(request, one)
    assert need.seconds < own.suite_row(request, (*one, "mmlu")).seconds
    trained = request.model_copy(update={"protocol": "train_before_test"})
    assert need.seconds < own.suite_row(trained, one).seconds
    stranger = own.suite_row(request.model_copy(update={"name": "acme/Rocket-1B"}), one)
    assert (stranger.mem_mb, stranger.gpus) == (64_000, 1)


def test_the_work_table_knows_every_task():
    settings = load_settings(merged({}), ROOT)
    assert set(settings.work) == set(settings.tasks)
    for name, row in settings.work.items():
        assert bool(row.training_items) == settings.task(name).training, name


def test_the_demo_took_what_was_planned():
    """Seconds, and megabytes at the peak, of one run on two cores."""
    settings = load_settings(merged({}), ROOT)
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
    with Path(__file__).with_name("measured.tsv").open(encoding="utf-8", newline="") as file:
        measured = {row["rule"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert measured.keys() == needs.keys()
    for rule, need in needs.items():
        seconds, mb = float(measured[rule]["s"]), float(measured[rule]["max_rss"])
        assert need.seconds / 2 < seconds < 2 * need.seconds, rule
        assert mb < need.mem_mb < 4 * mb, rule
