"""Attention branch by branch: what dense masks give, kernel by kernel and model by model."""

import random

import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Requests, fresh_seed
from workflow_scripts.evaluation.prefix import kernels
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.kernels import Call
from workflow_scripts.evaluation.prefix.model import CausalModel


def test_a_model_goes_on_with_its_own_attention():
    model = tiny_model("qwen2")
    before = model(torch.tensor([[1, 2, 3]])).logits
    PrefixEngine(model).loglikelihoods(Requests(0).mixed(), window=WINDOW)
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(model(torch.tensor([[1, 2, 3]])).logits, before)


def test_plain_batches_attend_by_flash_attn_where_the_model_was_loaded_with_it(monkeypatch):
    model, calls = tiny_model("qwen2"), []

    def flash(*given, **how):
        calls.append(given[4])
        return ALL_ATTENTION_FUNCTIONS["sdpa"](*given, **how)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._global_mapping, "flash_attention_2", flash)
    model.config._attn_implementation = "flash_attention_2"
    engine = CausalModel(model)
    assert not engine.why_not_packed and not calls
    engine.plain(torch.tensor([[1, 2, 3]]), torch.tensor([[False, False, True]]))
    assert calls == [None] * model.config.num_hidden_layers
    assert engine.attention == "sdpa, in plain batches flash_attention_2"


def drawn(rng: random.Random, width: int = 8, **how):
    """Segments of random lengths; a causal one has at least as many keys as rows."""
    rows = [rng.randint(1, 9) for _ in range(rng.randint(1, 5))]
    keys = [rng.randint(0 if how.get("window") else 1, 20) for _ in rows]
    if how.get("causal"):
        keys = [a + b if how.get("window") else a for a, b in zip(rows, keys, strict=True)]
    heads, shared = rng.choice([(4, 4), (4, 2), (6, 2), (3, 1)])
    torch.manual_seed(rng.randrange(10**6))
    q = torch.randn(sum(rows), heads, width)
    k, v = torch.randn(2, sum(keys), shared, width)
    return q, k, v, Call(rows, keys, **how)


def by_hand(q, k, v, call: Call, scale: float, softcap: float | None):
    """One row of one head at a time."""
    out, logsum = torch.zeros_like(q), torch.zeros(q.shape[:2])
    group = q.shape[1] // k.shape[1]
    for rows, keys in call.segments():
        behind = (keys.stop - keys.start) - (rows.stop - rows.start)
        for row in range(rows.start, rows.stop):
            for head in range(q.shape[1]):
                last = keys.start + row - rows.start + behind + 1 if call.causal else keys.stop
                first = max(keys.start, last - call.window) if call.window else keys.start
                scores = k[first:last, head // group] @ q[row, head] * scale
                if softcap:
                    scores = softcap * torch.tanh(scores / softcap)
                logsum[row, head] = scores.logsumexp(0)
                out[row, head] = scores.softmax(0) @ v[first:last, head // group]
    return out, logsum


HOW = {
    "what branches share": {},
    "own branches": {"causal": True},
    "a window": {"causal": True, "window": 4},
}


@pytest.mark.parametrize(
    ("kernel", "softcap", "how"),
    [
        *((kernels.plain, softcap, how) for softcap in (None, 1.5) for how in HOW),
        # It knows neither caps nor windows.
        *((kernels.on_cpu, None, how) for how in ("what branches share", "own branches")),
    ],
)
def test_a_kernel_gives_what_is_computed_by_hand(kernel, softcap, how, monkeypatch):
    monkeypatch.setattr(kernels, "_SCORES", 64)  # a few rows at a time
    rng = random.Random(fresh_seed())
    for _ in range(10):
        given = drawn(rng, **HOW[how])
        for found, expected in zip(
            kernel(*given, 0.3, softcap), by_hand(*given, 0.3, softcap), strict=True
        ):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.gpus(1)
@pytest.mark.parametrize("kernel", [kernels.flash, kernels.efficient])
@pytest.mark.parametrize("how", HOW)
def test_a_gpu_kernel_gives_what_the_plain_one_does(kernel, how):
    rng = random.Random(fresh_seed())
    dtype = torch.bfloat16 if kernel is kernels.flash else torch.float32
    for _ in range(10):
        q, k, v, call = drawn(rng, width=64, **HOW[how])
        q, k, v = (x.to("cuda", dtype) for x in (q, k, v))
        on_gpu = Call(call.rows, call.keys, call.causal, call.window, "cuda")
        expected = kernels.plain(q.float(), k.float(), v.float(), on_gpu, 0.3, None)
        for found, right in zip(kernel(q, k, v, on_gpu, 0.3, None), expected, strict=True):
            torch.testing.assert_close(found.float(), right, atol=3e-2, rtol=3e-2)


class Noting:
    """In place of a model: what it is given to see."""

    def packed(self, tokens, positions, sight, cache, wanted):
        keys = torch.zeros(1, 1, len(tokens), 1)
        cache.update(keys, keys, 0)
        self.sight = sight


def out_of_memory_over(model, most: int) -> list[int]:
    """Let the model run out of memory with more tokens than these, halfway through its layers."""
    given: list[int] = []

    def hook(module, args, kwargs, output):
        tokens = (args[0] if args else kwargs["hidden_states"]).shape[:2].numel()
        given.append(tokens)
        if tokens > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    model.model.layers[1].register_forward_hook(hook, with_kwargs=True)
    return given


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_what_fails_on_the_device_is_no_reason_to_run_a_model_otherwise(error):
    def fails(*_, **__):
        raise error("CUDA error: an illegal memory access was encountered")

    for tried in ("logits_to_keep", "past_key_values"):
        model = tiny_model("qwen2")
        model.register_forward_pre_hook(
            lambda _, args, given, tried=tried: fails() if tried in given else None,
            with_kwargs=True,
        )
        with pytest.raises(error, match="illegal"):
            PrefixEngine(model)
