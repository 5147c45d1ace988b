"""What the plan says of trainings that share their steps."""

import re
from math import ceil

import numpy as np
import pytest

from tests.unit.planning.test_needs import (
    ROOT,
    TINY,
    paper_settings,
    paper_with,
    planner,
    training_alone,
)
from workflow_scripts.planning.arithmetic import rows_together
from workflow_scripts.planning.machine import Machine
from workflow_scripts.planning.needs import Planner
from workflow_scripts.settings.packs import packs

TASKS = ("rte", "hellaswag", "cola", "gsm8k")


def paper(gpu="A100-80GB", **harmony):
    return paper_with(harmony=harmony, cluster={"gpu": gpu})


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_going_step_by_step(seed):
    rng = np.random.default_rng(seed)
    counts, tokens = rng.integers(1, 40, 9).tolist(), rng.integers(10, 900, 9).tolist()
    at_once, row = int(rng.integers(1, 11)), 1000
    waiting, slots, rows = list(range(9)), [], 0
    left = dict(enumerate(counts))
    while waiting or slots:
        while waiting and len(slots) < at_once:
            slots.append(waiting.pop(0))
        rows += max(1, ceil(sum(tokens[one] for one in slots) / row))
        for one in slots:
            left[one] -= 1
        slots = [one for one in slots if left[one]]
    assert rows_together([*zip(counts, tokens, strict=True)], at_once, row) == rows


def test_both_ways_are_priced_whichever_is_chosen():
    apart, some, shared = (
        paper(together=way, seeds=[1, 2, 3]).training_before_test(TINY, TASKS)
        for way in (1, 2, "auto")
    )
    assert apart.by_together["1"] == shared.by_together["auto"] == 1
    assert apart.seconds * apart.by_together["auto"] == pytest.approx(shared.seconds)
    assert shared.seconds * shared.by_together["1"] == pytest.approx(apart.seconds)
    assert shared.seconds < some.seconds < apart.seconds


@pytest.mark.parametrize("gpu", ["A100-80GB", "H100"])
@pytest.mark.parametrize("tasks", [6, 24])
def test_the_docs_hours_of_the_papers_grid_are_the_plans(gpu, tasks):
    settings = paper_settings(cluster={"gpu": gpu, "tasks_per_job": tasks})
    own, hours = Planner(settings), np.zeros((2, 2))
    kind = ("harmony", "train_before_test")
    parts = [pack.tasks for pack in packs(settings) if (pack.study, pack.protocol) == kind]
    for name in settings.harmony.models:
        for part in parts:
            need = own.training_before_test(name, part)
            both = [
                need.seconds * need.gpus / 3600 * need.by_together[way] for way in ("1", "auto")
            ]
            hours[0] += both
            hours[1] += np.multiply(both, settings.models[name].parameters < 1e9)
    (apart, shared), small = hours.round().astype(int)
    line = rf"\| {gpu} \| {tasks}(?:, as in config/paper.yaml)? \| (.*) \|"
    (found,) = re.findall(line, (ROOT / "docs/planning.md").read_text(encoding="utf-8"))
    assert found == f"{apart} | {shared} | {small[0]} and {small[1]}"


def test_who_waits_for_launches_gains_and_who_computes_does_not():
    """Three trainings on samples that are long for the task of a large model, and short for any small one's."""

    settings = paper_settings()
    recipe, row = settings.harmony.task_recipe(settings.source), settings.work["gsm8k"]
    trainings = [(row.training_items, row.training_items * row.training_tokens)] * 3

    def gain(model):
        shared = Machine(settings).model(model).training_together(recipe, trainings, 3, 512)
        return 3 * training_alone(settings, model, "gsm8k") / shared

    assert gain("Qwen/Qwen2.5-7B") == pytest.approx(1, abs=0.01)
    assert 1.5 < gain(TINY) < 3


def test_seeds_and_rates_share_steps_too():
    def ratio(**harmony):
        return paper(**harmony).training_before_test(TINY, ("rte",)).by_together["auto"]

    assert ratio() == 1  # one training
    assert ratio(seeds=[1, 2, 3]) < 1
    assert ratio(recipes={"published": {"learning_rates": [1e-4, 2e-4, 4e-4]}}) < 1


def test_what_cannot_share_is_priced_one_by_one():
    for recipe in ({"method": "full"}, {"packing": False}):
        own = paper(recipe="published", recipes={"published": recipe}, together="auto")
        assert own.training_before_test(TINY, TASKS).by_together == {}
    tight = paper("RTX-4090", together="auto").training_before_test("01-ai/Yi-9B", TASKS)
    assert tight.by_together == {"1": 1, "auto": 1}, "a row of the longest sample does not fit"


def test_a_processor_has_all_adapters_in_its_memory():
    base = {"source": "huggingface", "compute": {"device": "cpu"}, "prompts": {"models": []}}
    base |= {"chunking": {"checkpoints": []}}

    def memory(together):
        config = base | {"harmony": {"models": [TINY], "together": together}}
        return planner(config).training_before_test(TINY, TASKS).mem_mb

    assert memory(1) < memory(2) < memory("auto")
