"""What jobs ask for, of the published config and of the miniature world."""

import csv
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.machine import Machine
from workflow_scripts.planning.needs import Need, Planner
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.load import Settings, load_settings
from workflow_scripts.settings.requests import Request
from workflow_scripts.settings.served import Served
from workflow_scripts.settings.suite import OPEN_LLM_LEADERBOARD

LARGE, TINY = "Qwen/Qwen2.5-14B", "EleutherAI/pythia-70m-deduped"


def paper_settings(*, harmony=(), cluster=()) -> Settings:
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    config["harmony"] |= dict(harmony)
    return load_settings(merged(config | {"cluster": dict(cluster)}), ROOT)


def paper_with(**sections) -> Planner:
    return Planner(paper_settings(**sections))


@cache
def paper() -> Planner:
    return paper_with()


def planner(override) -> Planner:
    return Planner(load_settings(merged(override), ROOT))


def seconds_of(own, kind, *tasks, model=TINY):
    return getattr(own, kind)(model, tasks).seconds


def training_alone(settings, model, task):
    """Seconds of one training on a task: nothing is loaded, and nothing asked."""
    items = settings.work[task].training_items
    recipe = settings.harmony.task_recipe(settings.source)
    tokens = items * settings.work[task].training_tokens
    return Machine(settings).model(model).training(recipe, items, tokens)


def test_a_large_model_asks_for_what_it_needs_and_a_tiny_one_for_little():
    large, tiny = (paper().evaluation(name, ("hellaswag",)) for name in (LARGE, TINY))
    assert large.gpus == tiny.gpus == 1
    assert 29_500 < large.gpu_mb < 45_000  # its weights alone are 29.5 GB in bfloat16
    assert tiny.gpu_mb < 4_000
    assert large.mem_mb > 20_000 > 8_000 > tiny.mem_mb
    cluster = Cluster()
    assert tiny.asked_minutes(1, cluster) < 30
    trained = paper().training_before_test(LARGE, ("mnli",))
    assert trained.asked_minutes(1, cluster) > 60
    assert paper().training_before_test(TINY, ("rte",)).asked_minutes(1, cluster) < 30


def test_what_one_gpu_does_not_hold_is_evaluated_over_several_of_a_node():
    """70 billion parameters in 16 bits are 141 GB."""
    settings = paper_settings(cluster={"gpus_per_node": 4}.items())
    row = settings.model(LARGE).model_copy(
        update={"parameters": 70_600_000_000, "layers": 80, "model": "org/70B"}
    )
    settings.models["org/70B"] = row
    settings = settings.model_copy(
        update={
            "harmony": settings.harmony.model_copy(
                update={"models": ("org/70B",), "protocols": ("direct",)}
            )
        }
    )
    own = Planner(settings)
    need = own.evaluation("org/70B", ("hellaswag",))
    assert need.gpus == 4
    assert 141_200 / 4 < need.gpu_mb < 80_000
    assert own.too_large() == []
    assert Machine(settings).model(LARGE).cards(100, batch=32)[0] == 1
    small = settings.model_copy(
        update={"cluster": settings.cluster.model_copy(update={"gpus_per_node": 1})}
    )
    assert Planner(small).too_large()[0].startswith("org/70B cannot be evaluated: it needs")


def test_what_a_server_answers_needs_no_gpu():
    settings = paper_settings()
    settings.served[LARGE] = Served(endpoint="http://node7:8000/v1")
    need = Planner(settings).evaluation(LARGE, ("hellaswag",))
    assert (need.gpus, need.gpu_mb) == (0, 0) and need.mem_mb < 4_000


def test_full_training_of_a_large_model_is_refused_before_anything_runs():
    plan = {"model": LARGE, "num_chunks": 2, "num_layers_per_chunk": 24}
    config = {
        "source": "huggingface",
        "compute": {"dtype": "bfloat16", "device": "cuda"},
        "harmony": {"models": [TINY]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": [plan]},
        "training": {"cpt": "sft-full", "sft": None},
    }
    problems = planner(config).too_large()
    assert len(problems) == 1
    assert f"{LARGE}@k2m24+cpt cannot be trained with the recipe 'sft-full'" in problems[0]
    assert "A100-80GB' has 80" in problems[0]


def test_a_model_that_no_gpu_of_the_cluster_holds_is_refused_by_name():
    config = {
        "source": "huggingface",
        "compute": {"dtype": "bfloat16", "device": "cuda"},
        "harmony": {"models": [LARGE, TINY]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": []},
        "cluster": {"gpu": "RTX-4090", "gpus_per_node": 1},
    }
    small = planner(config)
    assert any(one.startswith(f"{LARGE} cannot be evaluated") for one in small.too_large())
    assert not any(TINY in one for one in small.too_large())
    assert paper().too_large() == []


def test_a_pack_is_the_sum_in_time_and_the_largest_in_memory():
    tasks = ("rte", "hellaswag", "gsm8k")
    single = [paper().evaluation(LARGE, (task,)) for task in tasks]
    pack = paper().evaluation(LARGE, tasks)
    loading = paper().evaluation(LARGE, ("rte",)).seconds
    assert max(one.seconds for one in single) < pack.seconds < sum(one.seconds for one in single)
    assert pack.seconds > sum(one.seconds for one in single) - 2 * loading - 1
    assert pack.mem_mb == max(one.mem_mb for one in single)
    assert pack.gpu_mb == max(one.gpu_mb for one in single)


def test_time_and_memory_grow_when_tried_again_and_stop_at_what_the_cluster_has():
    cluster = Cluster(longest_hours=2, node_memory_gb=20, reserve=2.0)
    need = Need(seconds=600, mem_mb=10_000)
    assert [need.asked_minutes(attempt, cluster) for attempt in (1, 2, 3, 4)] == [30, 60, 120, 120]
    assert [need.asked_mem_mb(attempt, cluster) for attempt in (1, 2, 3, 4)] == [
        *(10_000, 15_000, 20_000, 20_000)
    ]


def test_more_items_shots_epochs_and_seeds_take_longer():
    base = {"source": "huggingface", "prompts": {"models": []}, "chunking": {"checkpoints": []}}

    def seconds(kind, *arguments, **harmony):
        config = base | {"harmony": {"models": [TINY]} | harmony}
        return getattr(planner(config), kind)(TINY, *arguments).seconds

    few = seconds("evaluation", ("hellaswag",), max_test_items=100)
    assert few < seconds("evaluation", ("hellaswag",))
    assert seconds("evaluation", ("hellaswag",)) < seconds("evaluation", ("hellaswag",), 5)
    once = seconds("training_before_test", ("rte",))
    twice = seconds("training_before_test", ("rte",), seeds=[1, 2])
    assert 1.5 * once < twice < 2 * once
    recipes = {"published": {"epochs": 10}}
    assert once < seconds("training_before_test", ("rte",), recipes=recipes)


def test_a_row_of_the_leaderboard_needs_what_its_tasks_take_and_a_stranger_what_is_planned_for_any():
    request = Request(name=TINY, precision="bfloat16", model_type="pretrained")
    one, all_six = ("arc_challenge",), tuple(entry.task for entry in OPEN_LLM_LEADERBOARD)
    assert paper().suite_row(request, one).seconds < paper().suite_row(request, all_six).seconds
    trained = request.model_copy(update={"protocol": "train_before_test"})
    assert paper().suite_row(request, one).seconds < paper().suite_row(trained, one).seconds
    stranger = request.model_copy(update={"name": "acme/Rocket-1B"})
    assert paper().suite_row(stranger, one).mem_mb == 64_000
    assert paper().suite_row(stranger, one).gpus == 1


def test_choosing_an_epoch_generates_where_the_task_does():
    settings = paper_settings()
    short = settings.work["gsm8k"].model_copy(update={"new_tokens": 0})
    silent = Planner(settings.model_copy(update={"work": settings.work | {"gsm8k": short}}))

    def generating(kind):
        return seconds_of(paper(), kind, "gsm8k") - seconds_of(silent, kind, "gsm8k")

    # 1,000 of 7,473 items to choose on after each of five epochs, and the 1,319 of the test; batches of 16.
    expected = generating("evaluation") * (5 * 63 + 83) / 83
    assert generating("training_before_test") == pytest.approx(expected)


def test_a_model_is_loaded_once_for_adapters_and_anew_for_what_changes_it():
    def loading(kind, *tasks, **harmony):
        """What a disk of half the speed takes longer."""
        fast, slow = (
            paper_with(harmony=harmony, cluster={"disk_mb_per_second": speed})
            for speed in (500, 250)
        )
        return seconds_of(slow, kind, *tasks, model=LARGE) - seconds_of(
            fast, kind, *tasks, model=LARGE
        )

    once = loading("evaluation", "rte")
    assert loading("training_before_test", "rte", "cola") == pytest.approx(once)
    full = {"recipe": "published", "recipes": {"published": {"method": "full"}}}
    anew = loading("training_before_test", "rte", "cola", **full)
    assert anew == pytest.approx((1 + 2 * 2) * once)


def test_only_a_sample_that_has_no_room_alone_is_calculated_twice():
    """Long rows are cut apart first, and of a large model computing decides, at the same rate on both cards."""

    def training(gpu, task):
        return training_alone(paper_settings(cluster={"gpu": gpu}), LARGE, task)

    assert training("A100-40GB", "mathqa") == pytest.approx(training("A100-80GB", "mathqa"))
    assert training("A100-40GB", "gsm8k") == pytest.approx(training("A100-80GB", "gsm8k") * 6 / 4)


def test_auto_is_a_gpu_where_there_may_be_one_and_the_processor_elsewhere(monkeypatch, tmp_path):
    base = {"source": "huggingface", "prompts": {"models": []}, "chunking": {"checkpoints": []}}
    base |= {"harmony": {"models": [TINY]}, "compute": {"device": "auto", "threads": 2}}
    monkeypatch.setenv("PATH", str(tmp_path))
    processor = planner(base).training_before_test(TINY, ("rte",))
    assert processor.gpus == 0
    (tmp_path / "sbatch").touch(mode=0o755)
    gpu = planner(base).training_before_test(TINY, ("rte",))
    assert gpu.gpus == 1
    assert processor.seconds > 10 * gpu.seconds
    one = planner(base | {"compute": {"device": "cpu"}}).training_before_test(TINY, ("rte",))
    assert one.seconds > 1.5 * processor.seconds  # one thread


def test_a_job_that_spreads_chunks_asks_for_as_many_gpus_and_for_room_for_two_models():
    model = "Qwen/Qwen2.5-7B-Instruct"

    def latency(*devices, batch_sizes=(2, 4), **changes):
        measures = {"devices": list(devices), "latency_models": [model]}
        config = {
            "source": "huggingface",
            "compute": {"dtype": "bfloat16", "device": "cuda"},
            "harmony": {"models": [TINY]},
            "prompts": {"models": []},
            "chunking": {"checkpoints": [], "measures": measures | {"batch_sizes": batch_sizes}},
        }
        return planner(config | changes).latency(model)

    one, two = latency(1), latency(1, 2)
    assert (one.gpus, two.gpus) == (1, 2)
    assert latency(1, 4).gpus == 1, "no plan of the grid has four chunks"
    weights = 15_231  # of 7.6 billion parameters in bfloat16, in MB
    assert 2 * weights < one.gpu_mb == two.gpu_mb < 40_000, "before it is spread it lies on one"
    assert two.mem_mb == one.mem_mb, "weights pass through the host one model at a time"
    assert two.seconds > 1.5 * one.seconds > latency(1, batch_sizes=(4,)).seconds
    processor = {"compute": {"device": "cpu", "threads": 2}}
    assert latency(1, 2, **processor).gpus == 0
    assert latency(1, 2, **processor).mem_mb > 4 * weights, "in float32, twice"


def test_what_plans_write_takes_longer_with_each_plan_and_holds_two_models():
    def written(plans, **measures):
        own = planner({"chunking": {"measures": {"written_tokens": 64} | measures}})
        return own.written("miniature/Qwen2-1M-Instruct", plans)

    few, many = written(1), written(9)
    assert many.tokens == 5 * few.tokens and many.seconds > few.seconds
    assert written(1, written_tokens=128).seconds > few.seconds
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    large, model = planner(config), "Qwen/Qwen2.5-7B-Instruct"
    weights = 15_231  # of 7.6 billion parameters in bfloat16, in MB
    assert 2 * weights < large.written(model, 1).gpu_mb < 3 * weights


def test_a_model_that_a_gpu_cannot_hold_twice_is_not_timed_and_says_so():
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    config["chunking"] |= {"measures": {"latency_models": [LARGE]}}
    (problem,) = planner(config | {"cluster": {"gpu": "A100-40GB"}}).too_large()[-1:]
    assert problem.startswith(f"The times of {LARGE} cannot be taken: it needs")


def test_the_work_table_knows_every_task():
    settings = load_settings(merged({}), ROOT)
    assert set(settings.work) == set(settings.tasks)
    for name, row in settings.work.items():
        assert bool(row.training_items) == settings.task(name).training, name


# What one run of the demo took on two cores: seconds, and megabytes at the peak.
MEASURED = Path(__file__).with_name("measured.tsv")


def test_the_demo_took_what_was_planned():
    settings = load_settings(merged({}), ROOT)
    own = Planner(settings)
    study, tasks = "miniature/Qwen2-1M-Instruct", tuple(settings.harmony.tasks)
    needs = {
        "evaluate_direct": own.evaluation(study, tasks),
        "train_before_test": own.training_before_test(study, tasks),
        "evaluate_mmlu": own.mmlu(study),
        "train_checkpoint": own.stage(f"{study}@k2m12+cpt+sft"),
        "measure_perplexity": own.perplexity(study, 21),
        "ask_prompt_run": own.prompt_run("miniature/Llama-1.4M-Instruct", "run6"),
    }
    with MEASURED.open(encoding="utf-8", newline="") as file:
        measured = {row["rule"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert measured.keys() == needs.keys()
    for rule, need in needs.items():
        seconds, mb = float(measured[rule]["s"]), float(measured[rule]["max_rss"])
        assert need.seconds / 2 < seconds < 2 * need.seconds, rule
        assert mb < need.mem_mb < 4 * mb, rule
