"""The number format: what the card has of its own, and what a model keeps of it."""

import gc
import weakref

import pytest
import torch

from tests.unit.training.small import drawn_samples, model_of, same, train_small
from workflow_scripts.training.evaluated import as_evaluated, left_as_it_was
from workflow_scripts.training.precision import choose_precision
from workflow_scripts.training.trained_parameters import copy_parameters


@pytest.mark.parametrize(
    ("card", "format"), [((7, 0), "float32"), ((7, 5), "float32"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")]
)  # fmt: skip
def test_bfloat16_where_the_card_has_it(monkeypatch, card, format):
    """A V100 (7.0) emulates it, and PyTorch says yes."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: card)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)
    assert choose_precision("auto", "cuda") == format
    assert choose_precision("bfloat16", "cuda") == "bfloat16"
    assert choose_precision("auto", "cpu") == "float32"


KEYS = {"precision": "bfloat16", "max_steps": 3, "samples": drawn_samples(12)}
FULL, LORA = {"method": "full"}, {"method": "lora", "lora_rank": 2}


def loaded(dtype):
    model = model_of("llama").to(getattr(torch, dtype))
    model.config.dtype = getattr(torch, dtype)
    return model


@pytest.mark.parametrize("method", [FULL, LORA], ids=["full", "lora"])
def test_it_learns_in_it_what_it_does_in_float32(tmp_path, method):
    half = train_small(tmp_path / "a", load=loaded, **KEYS, **method)
    whole = train_small(tmp_path / "b", load=loaded, **KEYS | {"precision": "float32"}, **method)
    assert [e["loss"] for e in half.history] == pytest.approx(
        [e["loss"] for e in whole.history], rel=2e-2
    )
    assert not same(half.parameters, whole.parameters)
    assert all(tensor.dtype == torch.float32 for tensor in half.parameters.values())


@pytest.mark.parametrize("method", [FULL, LORA], ids=["full", "lora"])
def test_it_is_evaluated_in_the_format_it_was_loaded_in_and_trained_on_exactly(tmp_path, method):
    seen = []

    def score(model):
        kept = [n for n, p in model.named_parameters() if p.dtype != torch.bfloat16]
        assert all("lora_" in name for name in kept)
        with torch.no_grad():
            seen.append(model(input_ids=torch.arange(3, 40)[None]).logits)
        return {}

    scored = train_small(
        tmp_path / "a", load=loaded, score=score, evaluate_every=1, **KEYS, **method
    )
    alone = train_small(tmp_path / "b", load=loaded, **KEYS, **method)
    assert same(scored.parameters, alone.parameters), "rounding was for the evaluation alone"
    with torch.no_grad():
        tested = as_evaluated(scored.model)(input_ids=torch.arange(3, 40)[None]).logits
    assert seen[-1].dtype == torch.bfloat16 and torch.equal(seen[-1], tested)


def test_an_evaluation_that_fails_leaves_the_model_as_it_was():
    model = loaded("bfloat16").float().train()
    model.config.dtype = torch.bfloat16
    before = copy_parameters(model)
    with pytest.raises(ValueError, match="no score"), left_as_it_was(model):
        assert not model.training
        raise ValueError("no score")
    assert model.training and same(copy_parameters(model), before)


def test_nothing_that_was_put_into_it_keeps_a_model_in_memory(tmp_path):
    trained = train_small(tmp_path, load=loaded, **KEYS, **FULL)
    assert "forward" not in vars(trained.model)
    gc.collect()  # of the trainer, which holds itself
    model = weakref.ref(trained.model)
    gc.disable()
    try:
        del trained
        assert model() is None
    finally:
        gc.enable()
