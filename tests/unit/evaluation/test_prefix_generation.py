"""Generation of the engine: the tokens that transformers' generate gives to each prompt alone."""

import pytest
import torch

from tests.peak_memory import PeakMemory
from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import Requests, WithoutCache, alone, fresh_seed
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import GenerationRules, UnsupportedGeneration

NEW = 9
KINDS = ("gpt2", "gpt_neox", "llama", "qwen1.5", "qwen2", "some_windowed", "qwen3", "gemma", "gemma2", "windowed",
         "fused", "peft", "pruned")  # fmt: skip


def make_model(kind: str):
    """Without an end, so that answers are as long as they may be."""
    model = tiny_model(kind, window=128, initializer_range=0.3)
    model.generation_config.eos_token_id = None
    return model


def make_contexts(seed: int) -> list[list[int]]:
    """Two families of eight and one of four, some of none, and one twice."""
    requests = Requests(seed)
    contexts = requests.contexts(2, 8)
    start = requests.tokens(40)
    contexts += [start, *([*start, *requests.tokens(1, 5)] for _ in range(3))]
    return [*contexts, requests.tokens(1), requests.tokens(2, 40), requests.tokens(60), contexts[0]]


def make_engine(model, **options) -> PrefixEngine:
    engine = PrefixEngine(model)
    vars(engine).update(options)
    return engine


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_equals_generate(kind):
    model = make_model(kind)
    contexts = make_contexts(fresh_seed())
    # Of a pruned model transformers counts its cache by the config.
    given = {"max_new_tokens": NEW, "use_cache": kind != "pruned"}
    for options in ({}, {"repetition_penalty": 1.3}):
        expected = [alone(model, context, **given, **options) for context in contexts]
        requests = [GenerationRequest(context, NEW) for context in contexts]
        for changes in ({}, {"answers": 5}, {"steps": 4, "static": True}):
            engine = make_engine(model, **changes)
            assert engine.generate(requests, {"do_sample": False} | options) == expected, changes
            assert engine.tokens - len(expected) * (NEW - 1) == engine.trie_tokens


@pytest.mark.parametrize("rows", [1, 5, 32])
@pytest.mark.parametrize(("steps", "static"), [(1, False), (8, True)])
def test_answers_of_many_lengths(rows, steps, static):
    model = tiny_model("qwen2")
    contexts = Requests(fresh_seed()).contexts(3, 8)
    model.generation_config.eos_token_id = None
    whole = PrefixEngine(model).generate([GenerationRequest(c, 12) for c in contexts])
    model.generation_config.eos_token_id = [whole[0][4]]
    requests, expected = [], []
    for index, (context, tokens) in enumerate(zip(contexts, whole, strict=True)):
        end = index % 7 + 1
        requests.append(
            GenerationRequest(context, 12, stop=lambda tokens, end=end: len(tokens) == end)
            if index % 2
            else GenerationRequest(context, end)
        )
        ends = [place + 1 for place, token in enumerate(tokens) if token == whole[0][4]]
        expected.append(tokens[: min([end, *ends])])
    engine = make_engine(model, answers=rows, steps=steps, static=static)
    reported: dict[int, list[int]] = {}
    assert engine.generate(requests, on_generated=reported.__setitem__) == expected
    assert [reported[index] for index in range(len(requests))] == expected


def test_answer_up_to_the_last_position():
    model = make_model("gpt2")
    requests = Requests(fresh_seed())
    contexts = [requests.tokens(125), requests.tokens(20), requests.tokens(126)]
    lengths = [4, 13, 3]  # the last token of an answer is not read
    pairs = list(zip(contexts, lengths, strict=True))
    expected = [alone(model, context, max_new_tokens=length) for context, length in pairs]
    asked = [GenerationRequest(*pair) for pair in pairs]
    for static in (False, True):
        assert make_engine(model, steps=8, static=static).generate(asked) == expected


def test_samples_depend_on_the_seed_alone():
    model = make_model("llama")
    contexts = make_contexts(fresh_seed())
    requests = [GenerationRequest(c, NEW, seed=100 + i) for i, c in enumerate(contexts)]
    options = {"do_sample": True, "temperature": 1.5, "top_k": 50}
    expected = PrefixEngine(model).generate(requests, options)
    assert len({tuple(tokens) for tokens in expected}) == len(expected), "also of one prompt"
    engine = make_engine(model, tokens_per_call=16, answers=2)
    assert engine.generate(requests[::-1], options)[::-1] == expected
    others = [GenerationRequest(c, NEW, seed=i) for i, c in enumerate(contexts)]
    assert engine.generate(others, options) != expected


@pytest.mark.parametrize("rows", [4, 32])
def test_known_answers_change_no_bit_of_the_rest(rows):
    model = make_model("qwen2")
    seed = fresh_seed()
    contexts = Requests(seed).contexts(4, 8)
    requests = [GenerationRequest(context, 2 + i % 9) for i, context in enumerate(contexts)]
    engine = make_engine(model, answers=rows, tokens_per_call=64)
    whole = engine.generate(requests)
    generator = torch.Generator().manual_seed(seed)
    unknown = set(torch.randperm(len(requests), generator=generator)[:3].tolist())
    known = {index: tokens for index, tokens in enumerate(whole) if index not in unknown}
    reported: dict[int, list[int]] = {}
    again = make_engine(model, answers=rows, tokens_per_call=64)
    assert again.generate(requests, known=known, on_generated=reported.__setitem__) == whole
    assert set(reported) == unknown
    assert again.tokens_run <= engine.tokens_run
    assert again.tokens == engine.tokens


def test_normalised_distribution_needs_no_processor():
    model = tiny_model("qwen2")
    options = {"do_sample": False, "renormalize_logits": True}
    assert GenerationRules(model, options).build_sampler([1], 0).is_argmax
    for more in ({"repetition_penalty": 1.4}, {"do_sample": True, "top_k": 5}):
        assert not GenerationRules(model, options | more).build_sampler([1], 0).is_argmax


@pytest.mark.parametrize("megabytes", [2, 3, 16])
@pytest.mark.parametrize("kind", ["qwen2", "gpt_neox"])
def test_memory_stays_within_the_budget(megabytes, kind):
    model = tiny_model(kind, vocabulary=1000)
    contexts = Requests(fresh_seed(), vocabulary=1000).contexts(3, 20)
    requests = [GenerationRequest(context, NEW) for context in contexts]
    engine = PrefixEngine(model, memory_budget=megabytes * 2**20)
    with PeakMemory() as peak:
        answers = engine.generate(requests)
    assert peak.bytes <= engine.memory_budget
    assert answers == PrefixEngine(model).generate(requests)


def test_model_without_a_cache():
    model = tiny_model("qwen2")
    requests = [GenerationRequest(context, NEW) for context in make_contexts(fresh_seed())]
    expected = PrefixEngine(model).generate(requests)
    without = WithoutCache()
    without._prepare_generation_config = without.inner._prepare_generation_config
    without._prepare_special_tokens = without.inner._prepare_special_tokens
    without._get_logits_processor = without.inner._get_logits_processor
    without.inner.load_state_dict(model.state_dict())
    engine = PrefixEngine(without)
    assert engine.description.startswith("plain batches")
    assert engine.generate(requests) == expected


def test_unsupported_generation_is_refused():
    engine = PrefixEngine(tiny_model("qwen2"))
    requests = [GenerationRequest([1, 2], NEW)]
    for options, message in (({"num_beams": 3}, "beam_search"), ({"no_such": 3}, "'no_such'")):
        with pytest.raises(UnsupportedGeneration, match=message):
            engine.generate(requests, options)
    with pytest.raises(UnsupportedGeneration, match="WithoutCache is not a transformers model"):
        PrefixEngine(WithoutCache()).generate(requests)
    assert engine.generate([]) == []
