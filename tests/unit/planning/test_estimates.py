"""Compare job estimates with manual calculations and with a measured run of the demo."""

import pytest

from tests.tables import load_table
from tests.unit.settings.merged import load
from workflow_scripts.planning.estimates import JobEstimate, ResourceEstimator
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.job_batches import TaskBatch
from workflow_scripts.settings.served import Served
from workflow_scripts.settings.settings import Settings

HELLASWAG = TaskBatch("harmony", "direct", ("hellaswag",))
LARGE, LARGER = "Qwen/Qwen2.5-14B", "org/70B"
PARAMETERS, LAYERS = 14_770_033_664, 48  # of LARGE
GPUS = {
    "source": "huggingface",
    "compute": {"device": "cuda", "dtype": "bfloat16"},
    "prompts": {"models": []},
    "chunking": {"checkpoints": []},
}
A100 = 312e12 * 0.35  # FLOP/s


def load_gpu_settings(**harmony) -> Settings:
    """Load settings for models on 80 GB GPUs."""
    keys = {"models": [LARGE], "max_test_items": None}
    return load(GPUS | {"harmony": keys | harmony})


def test_evaluation_by_hand():
    """Compare with a manual calculation for hellaswag: 10,042 items of 180 tokens each."""
    settings = load_gpu_settings()
    work = settings.work["hellaswag"]
    estimate = ResourceEstimator(settings).estimate_cells(HELLASWAG, LARGE)
    loading = 12 + 2 * PARAMETERS / 0.5e9
    reading = 2 * PARAMETERS * work.test_items * work.test_tokens / A100
    assert estimate.seconds == pytest.approx(loading + 0.006 * work.test_items + reading)
    assert estimate.gpus == 1
    assert 1.2 * 29_540 < estimate.gpu_mb < 45_000
    assert estimate.mem_mb == pytest.approx(5_000 + 1.3 * 29_540, abs=1)


@pytest.mark.parametrize(("method", "flops"), [("lora", 4), ("full", 6)])
def test_training_by_hand(method, flops):
    """Compare one epoch of training 14 billion parameters with a manual calculation."""
    estimates = []
    for epochs in (1, 2):
        recipe = {"method": method, "epochs": epochs, "max_validation_items": 1}
        settings = load_gpu_settings(recipes={"published": recipe})
        estimates.append(ResourceEstimator(settings).estimate_training_before_test(LARGE, ("rte",)))
    work = settings.work["rte"]
    epoch = flops * PARAMETERS * work.training_items * work.training_tokens / A100
    assert estimates[1].seconds - estimates[0].seconds == pytest.approx(epoch, rel=0.02)
    assert (estimates[0].gpu_mb > 16 * PARAMETERS / 1e6) == (method == "full")


def test_evaluation_several_gpus():
    settings = load_gpu_settings()
    size = {"parameters": 70_600_000_000, "layers": 80, "model": LARGER}
    settings.models[LARGER] = settings.models[LARGE].model_copy(update=size)
    estimate = ResourceEstimator(settings).estimate_cells(HELLASWAG, LARGER)
    assert estimate.gpus == 4 and 141_200 / 4 < estimate.gpu_mb < 80_000
    settings.served[LARGER] = Served(endpoint="http://node7:8000/v1")
    served = ResourceEstimator(settings).estimate_cells(HELLASWAG, LARGER)
    assert (served.gpus, served.gpu_mb) == (0, 0) and served.mem_mb < 4_000


def test_retry_limits():
    """Time and memory limits grow with each retry, up to the limits of the cluster."""
    cluster = Cluster(max_job_hours=2, node_memory_gb=20, time_safety_factor=2.0)
    estimate, attempts = JobEstimate(seconds=600, mem_mb=10_000), (1, 2, 3, 4)
    minutes = [estimate.get_time_limit_minutes(attempt, cluster) for attempt in attempts]
    assert minutes == [30, 60, 120, 120]
    memory = [estimate.get_memory_limit_mb(attempt, cluster) for attempt in attempts]
    assert memory == [10_000, 15_000, 20_000, 20_000]


def test_demo_measurements():
    """Compare with the measured seconds and peak megabytes of a run on two cores."""
    settings = load({})
    own, tasks = ResourceEstimator(settings), tuple(settings.harmony.tasks)
    study = "miniature/Qwen2-1M-Instruct"
    estimates = {
        "evaluate_direct": own.estimate_cells(TaskBatch("harmony", "direct", tasks), study),
        "train_before_test": own.estimate_training_before_test(study, tasks),
        "evaluate_mmlu": own.estimate_mmlu(study),
        "train_checkpoint": own.estimate_stage(f"{study}@k2m12+cpt+sft"),
        "measure_perplexity": own.estimate_perplexity(study, 21),
        "ask_prompt_run": own.estimate_prompt_run("miniature/Llama-1.4M-Instruct", "run6"),
    }
    for rule, _, seconds, peak_mb in load_table(__file__, "measured.txt"):
        estimate = estimates[rule]
        assert estimate.seconds / 2 < float(seconds) < 2 * estimate.seconds, rule
        assert float(peak_mb) < estimate.mem_mb < 2 * float(peak_mb), rule
