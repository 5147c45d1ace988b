"""Two entries are refused just where they are one model: as built, with the same weights, they compute the same."""

import zlib
from functools import cache
from typing import get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import BOTH_SIDES, Mode, chunk_plan
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.same_models import refuse_one_model_twice

MODEL, LAYERS = "miniature/Qwen2-1M-Instruct", 4
SHAPE = {
    "vocab_size": 11,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}


def fitting_plans():
    for mode in get_args(Mode):
        for size in range(LAYERS + 1):
            for number in (None, *range(LAYERS + 1)):
                befores = range(LAYERS) if mode.endswith(BOTH_SIDES) else ()
                for before in (None, *befores):
                    try:
                        chunk_plan(LAYERS, mode, size, number, None, before)
                    except UserError:
                        continue
                    yield {
                        "mode": mode,
                        "num_layers_per_chunk": size,
                        "num_chunks": number,
                        "layers_before_chunks": before,
                    }
    for pruned in ([1], [3], [1, 3], [3, 1], [3, 3], [1, 2, 3]):
        yield {"mode": "prune", "layers_to_prune": pruned}


PLANS = [plan for plan in fitting_plans() if plan["mode"] != "prune" or plan.get("layers_to_prune")]
CHOICES = {
    "aggregation_mode": ["mlp", "mean", "last", "residual"],
    "aggregation_base": ["residual", "mean", "none"],
    "use_adapters": [True, False],
    "adapter_hidden_size": [None, 3, 5],
    "adapter_init": ["identity", "normal"],
    "distillation": [False, True],
    "logits_distillation": [False, True],
    "temperature": [2.0, 0.5],
    "distillation_loss": ["own", "published"],
}


@st.composite
def pairs(draw):
    """Two entries that differ in their plan, in a choice or two, or in nothing."""
    one = draw(st.sampled_from(PLANS)) | {
        name: draw(st.sampled_from(values)) for name, values in CHOICES.items()
    }
    other = dict(one)
    for name in draw(st.lists(st.sampled_from([*CHOICES, "plan"]), max_size=2)):
        if name == "plan":
            other = draw(st.sampled_from(PLANS)) | {key: other[key] for key in CHOICES}
        else:
            other[name] = draw(st.sampled_from(CHOICES[name]))
    made = [Checkpoint(model=MODEL, **keys) for keys in (one, other)]
    # Which the config refuses.
    may_learn = [bool(c.plan(LAYERS).chunks) or c.mode == "prune" for c in made]
    learns = [c.distillation or c.logits_distillation for c in made]
    assume(all(may or not does for may, does in zip(may_learn, learns, strict=True)))
    published = [c.distillation and c.distillation_loss == "published" for c in made]
    assume(all(c.plan(LAYERS).end or not is_ for c, is_ in zip(made, published, strict=True)))
    return made


@cache
def computed(keys: str):
    """Weights and which start as zeros, logits and training loss of the model that an entry asks for."""
    # Here, or all tests of the settings would wait for them.
    import torch

    from workflow_scripts.chunked.architectures import Qwen2ChunkingForCausalLM
    from workflow_scripts.chunked.configuration import Qwen2ChunkingConfig

    config = Qwen2ChunkingConfig(**SHAPE, **Checkpoint.model_validate_json(keys).keys)
    model = Qwen2ChunkingForCausalLM(config).train()
    starts = {name: bool(parameter.any()) for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            seed = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            parameter.copy_(torch.randn(parameter.shape, generator=seed) * 0.5)
        ids = torch.tensor([[1, 5, 9, 2, 7, 3], [8, 4, 4, 10, 6, 0]])
        logits = model(ids, use_cache=False).logits
        loss = model(ids, labels=ids, use_cache=False).loss
    shapes = {name: (p.shape, starts[name]) for name, p in model.named_parameters()}
    return shapes, logits, loss


def same(one: Checkpoint, other: Checkpoint) -> bool:
    (shapes, *ours), (other_shapes, *theirs) = (computed(c.model_dump_json()) for c in (one, other))
    return shapes == other_shapes and all(
        a.allclose(b, rtol=1e-4, atol=1e-4) for a, b in zip(ours, theirs, strict=True)
    )


def assert_refused_where_same(one: Checkpoint, other: Checkpoint) -> None:
    if one.id(LAYERS) == other.id(LAYERS):
        assert same(one, other)
    if same(one, other):
        with pytest.raises(PydanticCustomError, match=r"checkpoints\[1\]"):
            refuse_one_model_twice((one, other), {MODEL: LAYERS})
    else:
        refuse_one_model_twice((one, other), {MODEL: LAYERS})


@settings(max_examples=100, deadline=None)
@given(pairs())
def test_one_model_is_refused_under_two_names_and_no_two_models_have_one(pair):
    assert_refused_where_same(*pair)


HALVES = {"num_layers_per_chunk": 2}
ONE = {"num_layers_per_chunk": 2, "num_chunks": 1}
PLAIN = {"use_adapters": False, "aggregation_mode": "residual"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HALVES, {"mode": "uniform", "num_layers_per_chunk": 2}),
        (HALVES, HALVES | {"num_chunks": 2, "layers_before_chunks": 0}),
        (HALVES, HALVES | {"temperature": 3.0, "distillation": False}),
        (HALVES | {"distillation": True}, HALVES | {"distillation": True, "temperature": 3.0}),
        (HALVES | PLAIN, HALVES | PLAIN | {"adapter_hidden_size": 3, "aggregation_base": "none"}),
        (
            HALVES | PLAIN,
            HALVES | PLAIN | {"adapter_init": "normal", "distillation_loss": "published"},
        ),
        (
            {"num_layers_per_chunk": 1},
            {"num_layers_per_chunk": 1, "mode": f"sequential{BOTH_SIDES}"},
        ),
        (
            {"num_layers_per_chunk": 3, "mode": "uniform_with_first_layer"},
            {"num_layers_per_chunk": 3, "num_chunks": 1, "layers_before_chunks": 1},
        ),
        (ONE | {"aggregation_mode": "mean"}, ONE | {"aggregation_mode": "last"}),
        (ONE | {"aggregation_base": "mean"}, ONE),
        (
            {"num_layers_per_chunk": 4, "mode": "sequential", "use_adapters": False},
            {
                **{"num_layers_per_chunk": 3, "mode": "sequential_with_first_layer"},
                "use_adapters": False,
            },
        ),
        (ONE | PLAIN, {"num_chunks": 0, "num_layers_per_chunk": 0, "mode": "sequential"}),
        (
            {"mode": "prune", "layers_to_prune": [1, 3]},
            {"mode": "prune", "layers_to_prune": [3, 1, 3]} | PLAIN,
        ),
    ],
)
def test_what_makes_no_other_model(one, other):
    made = [Checkpoint(model=MODEL, **keys) for keys in (one, other)]
    assert same(*made)
    assert_refused_where_same(*made)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"num_layers_per_chunk": 12}, r"checkpoints\[1\] is '\S+@k2m12', as checkpoints\[0\] is"),
        (
            {"num_layers_per_chunk": 12, "mode": "uniform"},
            r"checkpoints\[1\], '\S+@k2m12-uniform', has the same layers in the same places as"
            r" checkpoints\[0\], '\S+@k2m12'",
        ),
    ],
)
def test_a_config_that_names_a_model_twice_gets_a_sentence(keys, sentence):
    twice = [{"model": MODEL, "num_chunks": 2, "num_layers_per_chunk": 12}, {"model": MODEL} | keys]
    with pytest.raises(UserError, match=sentence):
        load({"chunking": {"checkpoints": twice}})
