"""Generation of the engine: the tokens that transformers' generate gives to each prompt alone."""

import random

import pytest
import torch

from tests.tiny_models import VOCABULARY, make_tiny_model
from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.evaluation.drawn import CachelessModel, Requests, fresh_seed, generate_alone
from workflow_scripts.evaluation.prefix.answer import Answer, GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import (
    GenerationRules,
    StopStrings,
    UnsupportedGeneration,
)

NEW = 6
KINDS = ("gpt2", "gpt_neox", "qwen2", "some_windowed", "gemma2", "fused", "peft", "pruned")
SAMPLED = {
    "do_sample": True, "temperature": 2.0, "top_k": 60, "top_p": 0.9, "repetition_penalty": 1.2,
}  # fmt: skip


def make_model(kind: str):
    """Make a model without an end token, so that answers are as long as they may be."""
    model = make_tiny_model(kind, window=128, initializer_range=0.3)
    model.generation_config.eos_token_id = None
    return model


def make_contexts(seed: int) -> list[list[int]]:
    """Draw two families of six contexts, a family of four, three single contexts, and a repeat."""
    requests = Requests(seed)
    contexts = requests.draw_contexts(2, 6)
    start = requests.draw_tokens(40)
    contexts += [start, *([*start, *requests.draw_tokens(1, 5)] for _ in range(3))]
    return [
        *contexts,
        requests.draw_tokens(1),
        requests.draw_tokens(2, 40),
        requests.draw_tokens(60),
        contexts[0],
    ]


def make_engine(model, rows: int, **options) -> PrefixEngine:
    engine = PrefixEngine(model, **options)
    engine.answers = rows
    return engine


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_equals_generate(kind):
    model = make_model(kind)
    contexts = make_contexts(fresh_seed())
    requests = [GenerationRequest(context, NEW) for context in contexts]
    # Of a pruned model transformers counts its cache by the config.
    settings = {"max_new_tokens": NEW, "use_cache": kind != "pruned"}
    for options in ({}, {"repetition_penalty": 1.3}) if kind == "qwen2" else ({},):
        expected = [generate_alone(model, context, **settings, **options) for context in contexts]
        for rows in (64, 5):
            engine = make_engine(model, rows)
            assert engine.generate(requests, {"do_sample": False} | options) == expected, rows


@pytest.mark.parametrize("rows", [1, 5, 32])
def test_answers_many_lengths(rows):
    model = make_tiny_model("qwen2")
    contexts = Requests(fresh_seed()).draw_contexts(3, 8)
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
    reported: dict[int, list[int]] = {}
    engine = make_engine(model, rows)
    assert engine.generate(requests, on_generated=reported.__setitem__) == expected
    assert [reported[index] for index in range(len(requests))] == expected


@pytest.mark.parametrize("rows", [4, 32])
def test_cached_answers_change_nothing(rows):
    model = make_model("qwen2")
    seed = fresh_seed()
    contexts = Requests(seed).draw_contexts(4, 8)
    requests = [GenerationRequest(context, 2 + i % 9) for i, context in enumerate(contexts)]
    engine = make_engine(model, rows, tokens_per_call=64)
    whole = engine.generate(requests)
    unknown = set(random.Random(seed).sample(range(len(requests)), 3))
    cached = {index: tokens for index, tokens in enumerate(whole) if index not in unknown}
    reported: dict[int, list[int]] = {}
    resumed = make_engine(model, rows, tokens_per_call=64)
    assert resumed.generate(requests, cached=cached, on_generated=reported.__setitem__) == whole
    assert set(reported) == unknown
    assert resumed.model.tokens_run <= engine.model.tokens_run
    assert resumed.tokens == engine.tokens


def test_cacheless_model():
    model = make_tiny_model("qwen2")
    requests = [GenerationRequest(context, NEW) for context in make_contexts(fresh_seed())]
    expected = PrefixEngine(model).generate(requests)
    cacheless = CachelessModel()
    for name in ("generation_config", "special_tokens"):
        setattr(cacheless, f"_prepare_{name}", getattr(cacheless.inner, f"_prepare_{name}"))
    cacheless._get_logits_processor = cacheless.inner._get_logits_processor
    cacheless.inner.load_state_dict(model.state_dict())
    assert PrefixEngine(cacheless).generate(requests) == expected


def test_unsupported_generation_is_refused():
    engine = PrefixEngine(make_tiny_model("qwen2"))
    for options in ({"num_beams": 3}, {"no_such": 3}):
        with pytest.raises(UnsupportedGeneration):
            engine.generate([GenerationRequest([1, 2], NEW)], options)
    assert engine.generate([]) == []


def test_samples_equal_plain_loop():
    rules = GenerationRules(make_tiny_model("qwen2"), SAMPLED)
    seed = fresh_seed()
    context = Requests(seed).draw_tokens(1, 30)
    torch.manual_seed(seed)
    logits = (3 * torch.randn(NEW, VOCABULARY)).to(torch.bfloat16)
    answer = Answer(GenerationRequest(context, NEW, seed=seed), rules, list)
    ids = torch.tensor([context])
    generator = torch.Generator().manual_seed(seed)
    for row in logits:
        weights = rules.build_processors(context)(ids, row.float()[None])[0].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(weights, 1, generator=generator)[None]], dim=1)
        answer.add_next(row, -1)
    assert ids.tolist() == [answer.all_tokens]


STRINGS = ("\n", "\n\n", "Q:", ".", ",", " ", "é", "fox", "日", "e ", "<s>", "</s>")


@pytest.mark.parametrize("family", FAMILIES)
def test_stop_strings_equal_full_decoding(family):
    """Texts hold characters of several tokens, spaces and special tokens."""
    tokenizer, rng = tokenizer_like(family), random.Random(fresh_seed())
    text = "The fox sees é. Q: 日本 the Zoë\n\nQ: a, b ., \n e fox"
    usual = tokenizer.encode(text, add_special_tokens=False)
    lengths = {s: len(tokenizer.encode(s, add_special_tokens=False)) + 2 for s in STRINGS}
    stopped = 0
    for _ in range(150):
        strings = tuple(rng.sample(STRINGS, 3))
        stop = StopStrings(tokenizer, strings, 2)
        tokens: list[int] = []
        place = rng.randrange(len(usual))
        while len(tokens) < 25:  # stretches of text, and whatever a model may say between them
            place = (place + 1) % len(usual) if rng.random() < 0.8 else rng.randrange(len(usual))
            tokens.append(usual[place] if rng.random() < 0.9 else rng.randrange(len(tokenizer)))
            stops = any(s in tokenizer.decode(tokens[-lengths[s] :]) for s in strings)
            assert stop(tokens) == stops, (tokens, strings)
            if stops:
                stopped += 1
                break
    assert stopped > 20
