"""What the steps are asked: all that their outcome depends on, nothing else, and the same on both sides."""

import json

import pytest

from tests.unit.settings.merged import load
from workflow_scripts.evaluation.prompts.requests import prompt_request
from workflow_scripts.evaluation.requests import (
    latency_request,
    mmlu_request,
    perplexity_request,
    stage_perplexity_request,
    verify_request,
    written_request,
)
from workflow_scripts.grid.requests import explain_training_request
from workflow_scripts.hub.requests import build_request

MODEL = "miniature/Qwen2-1M-Instruct"
REQUESTS = {
    "build": lambda settings: build_request(settings, f"{MODEL}@k2m12"),
    "verify": verify_request,
    "perplexity": lambda settings: perplexity_request(settings, MODEL),
    "stage_perplexity": stage_perplexity_request,
    "written": lambda settings: written_request(settings, MODEL),
    "latency": lambda settings: latency_request(settings, MODEL),
    "mmlu": mmlu_request,
    "prompt": lambda settings: prompt_request(settings, "run6"),
    "explain_training": explain_training_request,
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_step_rebuilds_what_its_rule_asked(name):
    asked = REQUESTS[name](load({}))
    handed_on = json.loads(json.dumps(asked.to_params()))
    assert type(asked).of(handed_on) == asked
    assert type(asked).of(handed_on).sha256 == asked.sha256


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"chunking": {"measures": {"stride": 64}}}, {"perplexity", "stage_perplexity"}),
        (
            {"chunking": {"measures": {"perplexity_mean": "windows"}}},
            {"perplexity", "stage_perplexity", "written"},
        ),
        ({"chunking": {"measures": {"written_tokens": 9}}}, {"written"}),
        ({"chunking": {"measures": {"new_tokens": 6}}}, {"latency"}),
        ({"chunking": {"measures": {"latency_prompts": "chat"}}}, {"latency"}),
        ({"chunking": {"measures": {"latency_aggregation": "mean"}}}, {"latency"}),
        ({"chunking": {"measures": {"pruned": [[2]]}}}, {"perplexity", "written", "latency"}),
        ({"chunking": {"measures": {"repeats": 5}}}, {"latency"}),
        ({"chunking": {"measures": {"latency_models": []}}}, set()),
        ({"compute": {"batch_size": 16}}, {"perplexity", "stage_perplexity", "written", "mmlu"}),
        ({"mmlu": {"shots": 4}}, {"mmlu"}),
        ({"mmlu": {"prompt": "published"}}, {"mmlu"}),
        ({"prompts": {"max_items_per_subject": 2}}, {"prompt"}),
        (
            {"compute": {"threads": 2}},
            {"verify", "perplexity", "stage_perplexity", "written", "latency", "mmlu", "prompt"},
        ),
    ],
)
def test_changing_one_key_asks_its_users_something_else_and_nobody_besides(changes, changed):
    before, after = load({}), load(changes)
    differing = {name for name, ask in REQUESTS.items() if ask(before) != ask(after)}
    assert differing == changed


def test_plans_that_are_the_same_are_measured_once():
    pruned = [[5, 3], [3, 5]]
    settings = load({"chunking": {"measures": {"pruned": pruned}}})
    plans = perplexity_request(settings, MODEL).plans
    assert [plan.layers_to_prune for plan in plans if plan.mode == "prune"] == [(3, 5)]


def variants_timed(checkpoints, model=MODEL, **measures):
    config = {"chunking": {"checkpoints": checkpoints, "measures": measures}}
    settings = load(config)
    layers = settings.model(model).layers
    return [one.id(layers).variant for one in latency_request(settings, model).plans]


def test_the_layers_alone_are_timed_and_each_checkpoint_with_what_it_is_made_of_once():
    plan = {"model": MODEL, "num_layers_per_chunk": 12}
    grid = {"latency_layers": [0, 12], "pruned": [[24]]}
    made = [
        plan,
        {"model": MODEL, "num_chunks": 0, "num_layers_per_chunk": 0},
        plan | {"distillation": True},  # as fast as without
        plan | {"adapter_init": "normal"},  # and as these
        plan | {"aggregation_base": "none", "adapter_hidden_size": 8},
        plan | {"aggregation_mode": "residual", "use_adapters": False},  # the layers alone
        {"model": MODEL, "mode": "prune", "layers_to_prune": [3]},
    ]
    assert variants_timed(made, **grid) == [
        *("@k2m12-residual-noadapters", "@k2m12", "@k2m12-mlp.none-adapters8"),
        *("@prune3", "@prune24"),
    ]


def test_of_a_model_that_is_only_timed_the_grid_is_and_nothing_is_left_out_of_it():
    other = "miniature/Qwen2-1M"
    plan = {"model": MODEL, "num_layers_per_chunk": 12}
    timed = variants_timed([plan], other, latency_models=[other], latency_layers=[2])
    assert timed == ["@k2m2-residual-noadapters"]
