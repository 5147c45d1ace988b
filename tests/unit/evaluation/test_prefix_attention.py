"""Attention branch by branch: what dense masks give, kernel by kernel and model by model."""

import random

import numpy as np
import pytest
import torch

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Operations, Requests, fresh_seed, plain_score
from tests.unit.evaluation.test_prefix_scores import assert_same
from workflow_scripts.evaluation.prefix import answer_rows, kernels
from workflow_scripts.evaluation.prefix.attention import Cascade
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.kernels import Call
from workflow_scripts.evaluation.prefix.packed import PackedRun
from workflow_scripts.evaluation.prefix.trie import build_trie


def test_a_model_goes_on_with_its_own_attention():
    model = tiny_model("qwen2")
    before = model(torch.tensor([[1, 2, 3]])).logits
    PrefixEngine(model).loglikelihoods(Requests(0).mixed(), window=WINDOW)
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(model(torch.tensor([[1, 2, 3]])).logits, before)


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


def test_efficient_attention_takes_as_many_steps_whatever_the_segments(monkeypatch):
    def at_once(q, *more, **_):
        segments = len(more[3]) - 1
        return q, torch.zeros(segments, q.shape[2], 1), None, None, None, None

    monkeypatch.setattr(torch.ops.aten, "_efficient_attention_forward", at_once)
    steps = []
    for segments in (2, 200):
        q = torch.zeros(segments, 4, 8)
        call = Call([1] * segments, [1] * segments)
        kernels.efficient(q, q, q, call, 0.3, None)  # of the first layer
        with Operations() as counting:
            kernels.efficient(q, q, q, call, 0.3, None)
        steps.append(len(counting.names))
    assert steps[0] == steps[1] < 20


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


def test_the_fastest_kernel_that_can_do_it_is_chosen():
    own = Call([3], [3], causal=True)
    q = torch.zeros(3, 2, 16)
    assert kernels.kernel_for(q, q, own, None) is kernels.on_cpu
    assert kernels.kernel_for(q, q, own, 50.0) is kernels.plain
    assert kernels.kernel_for(q, q[..., :8], own, None) is kernels.plain
    assert kernels.kernel_for(q, q, Call([3], [3], True, 2), None) is kernels.plain


class Noting:
    """In place of a model: what it is given to see."""

    def packed(self, tokens, positions, sight, cache, wanted):
        keys = torch.zeros(1, 1, len(tokens), 1)
        cache.update(keys, keys, 0)
        self.sight = sight


def test_what_is_made_for_a_call_grows_with_tokens_and_not_with_their_square():
    examples = list(range(400))
    sequences = [[*examples, at, *range(20), end] for at in range(100) for end in (1, 2)]
    trie, _ = build_trie(sequences)
    model = Noting()
    run = PackedRun(model, trie, capacity=trie.tokens)
    run.run(0, trie.tokens, np.zeros(0, dtype=np.int64))
    made = 0
    for level in Cascade(model.sight, "cpu").levels(None):
        chosen = [x.numel() for x in (level.rows, level.keys) if isinstance(x, torch.Tensor)]
        made += sum(chosen) + len(level.call.rows) + len(level.call.keys)
    assert made < 4 * trie.tokens


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


@pytest.mark.parametrize("kind", ["qwen2", "eager", "windowed"])
def test_where_memory_runs_out_half_as_many_tokens_go_on(kind):
    model = tiny_model(kind)
    requests = Requests(fresh_seed()).mixed()
    expected = [plain_score(model, *request) for request in requests]
    engine = PrefixEngine(model)
    given = out_of_memory_over(model, 50)
    assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)
    failed = [at for at, tokens in enumerate(given) if tokens > 50]
    assert failed and failed[-1] < len(given) / 2, (
        "it is tried with less, and then no more with more"
    )
    assert len(failed) <= 8


def test_what_no_memory_is_enough_for_fails_as_it_did():
    model = tiny_model("qwen2")
    engine = PrefixEngine(model)
    out_of_memory_over(model, 0)
    for requests in (Requests(0).mixed(), [([1, 2], [3])]):
        with pytest.raises(torch.OutOfMemoryError):
            engine.loglikelihoods(requests, window=WINDOW)


def test_capped_scores_keep_their_masks_on_a_gpu_where_only_the_plain_kernel_knows_them():
    for kind, by_branch in (("gemma2", False), ("eager", True), ("qwen2", True)):
        model = PrefixEngine(tiny_model(kind)).model
        model.device = torch.device("cuda")
        assert model._may_run_by_branch() == by_branch, kind


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_what_fails_on_the_device_is_no_reason_to_run_a_model_otherwise(error, monkeypatch):
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
    engine = PrefixEngine(tiny_model("qwen2"))
    monkeypatch.setattr(answer_rows, "step_both_ways", fails)
    with pytest.raises(error, match="illegal"):
        _ = engine.model.shares_starts
