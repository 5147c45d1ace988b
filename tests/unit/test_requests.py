"""Test that job parameters contain exactly the config keys that the result depends on."""

import pytest
import yaml

from tests.tables import load_table
from tests.unit.settings.merged import load
from workflow_scripts.evaluation.prompts.requests import build_prompt_request
from workflow_scripts.evaluation.requests import (
    build_latency_request,
    build_mmlu_request,
    build_perplexity_request,
    build_verify_request,
    build_written_request,
)
from workflow_scripts.grid.requests import build_explain_request

MODEL = "miniature/Qwen2-1M-Instruct"
REQUESTS = {
    "build": lambda settings: (settings.get_chunked_checkpoints()[f"{MODEL}@k2m12"], settings.seed),
    "verify": build_verify_request,
    "perplexity": lambda settings: build_perplexity_request(settings, MODEL),
    "stage_perplexity": build_perplexity_request,
    "written": lambda settings: build_written_request(settings, MODEL),
    "latency": lambda settings: build_latency_request(settings, MODEL),
    "mmlu": build_mmlu_request,
    "prompt": lambda settings: build_prompt_request(settings, "run6"),
    "explain_training": build_explain_request,
}


@pytest.mark.parametrize(("change", "expected"), load_table(__file__, "changed_keys.txt"))
def test_changed_key(change, expected):
    """A changed config key changes the params of the jobs that use it, and no others."""
    before, after = load({}), load(yaml.safe_load(f"{{{change}}}"))
    differing = {name for name, get in REQUESTS.items() if get(before) != get(after)}
    assert differing == set(expected.split())


@pytest.mark.parametrize(
    ("model", "layers", "variants"),
    [
        (
            MODEL,
            12,
            "@k2m12-residual-noadapters @k2m12 @k2m12-mlp.none-adapters8 @prune3 @prune3-5",
        ),
        ("miniature/Qwen2-1M", 2, "@k2m2-residual-noadapters"),
    ],
)
def test_timed_plans(model, layers, variants):
    """The timed plans are the layers without adapters and each distinct checkpoint once; other models have the grid."""
    plan = {"model": MODEL, "num_layers_per_chunk": 12}
    checkpoints = [
        plan,
        {"model": MODEL, "num_chunks": 0, "num_layers_per_chunk": 0},
        plan | {"distillation": True},  # as fast as without
        plan | {"aggregation_base": "none", "adapter_hidden_size": 8},
        {"model": MODEL, "mode": "prune", "layers_to_prune": [3]},
    ]
    measures = {
        "latency_layers": [0, layers],
        "pruned": [[5, 3], [3, 5]],
        "latency_models": [model],
    }
    settings = load({"chunking": {"checkpoints": checkpoints, "measures": measures}})
    plans = build_latency_request(settings, model).plans
    assert [plan.build_id(24).variant for plan in plans] == variants.split()
