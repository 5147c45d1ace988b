"""Weights of eight and four bits: refused in a sentence where they cannot be had, and run on a GPU."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.quantized import quantization


@pytest.mark.parametrize("precision", ["8bit", "4bit"])
def test_without_a_gpu_it_is_a_sentence(model_manifest, precision):
    with pytest.raises(
        UserError, match=f"precision {precision} needs a GPU, and this job has none"
    ):
        load_model(model_manifest, device="cpu", dtype=precision, attention="auto")


@pytest.mark.parametrize("precision", ["8bit", "4bit"])
def test_without_the_library_it_is_a_sentence(monkeypatch, precision):
    monkeypatch.setattr("workflow_scripts.hub.quantized.find_spec", lambda name: None)
    with pytest.raises(UserError, match="bitsandbytes, which is not installed here"):
        quantization(precision, "cuda")


@pytest.mark.gpus(1)
@pytest.mark.parametrize("precision", ["8bit", "4bit"])
def test_on_a_gpu_the_weights_are_small_and_the_answers_near(model_manifest, precision):
    import torch

    pytest.importorskip("bitsandbytes")
    exact, small = (
        load_model(model_manifest, device="cuda", dtype=dtype, attention="eager")
        for dtype in ("float16", precision)
    )
    assert small.dtype == precision
    ids = torch.arange(3, 35, device="cuda")[None]
    likely, less_exact = (one.model(ids).logits.float().softmax(-1) for one in (exact, small))
    assert 0 < (likely - less_exact).abs().sum(-1).mean() < 0.5
    assert small.model.get_memory_footprint() < exact.model.get_memory_footprint()
