"""Answers side by side: rows of their own, starts kept once; as if each were alone."""

from dataclasses import replace

import pytest
import torch

from tests.peak_memory import PeakMemory
from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import Requests, alone, fresh_seed
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.choosing import GenerationRules
from workflow_scripts.evaluation.prefix.engine import PrefixEngine

NEW = 9
KINDS = (
    "gpt2",
    "gpt_neox",
    "llama",
    "qwen1.5",
    "qwen2",
    "some_windowed",
    "qwen3",
    "gemma",
    "gemma2",
    "windowed",
)


def model_of(kind: str):
    """Without an end, so that answers are as long as they may be."""
    model = tiny_model(kind, window=128, initializer_range=0.3)
    model.generation_config.eos_token_id = None
    return model


def contexts_of(seed: int) -> list[list[int]]:
    """Two families of eight and one of four, and some of none."""
    requests = Requests(seed)
    contexts = requests.contexts(2, 8)
    start = requests.tokens(40)
    contexts += [start, *([*start, *requests.tokens(1, 5)] for _ in range(3))]
    return [*contexts, requests.tokens(1), requests.tokens(2, 40), requests.tokens(60)]


def engine_of(model, *, rows=16, steps=1, static=False) -> PrefixEngine:
    engine = PrefixEngine(model)
    engine.at_once = replace(engine.at_once, answers=rows, steps=steps, static=static)
    return engine


@pytest.mark.parametrize("kind", [*KINDS, "fused"])
def test_every_architecture_says_what_it_says_alone(kind):
    model = model_of(kind)
    attention = model.config._attn_implementation
    contexts = contexts_of(fresh_seed())
    expected = [alone(model, context, max_new_tokens=NEW) for context in contexts]
    asked = [GenerationRequest(context, NEW) for context in contexts]
    for ways in ({}, {"rows": 5}, {"steps": 4, "static": True}):
        engine = engine_of(model, **ways)
        assert engine.generate(asked, {"do_sample": False}) == expected, ways
        assert model.config._attn_implementation == attention


@pytest.mark.parametrize("rows", [1, 5, 9, 32])
@pytest.mark.parametrize(("steps", "static"), [(1, False), (3, False), (8, True)])
def test_answers_of_many_lengths_stop_where_they_would_alone(rows, steps, static):
    model = tiny_model("qwen2")
    seed = fresh_seed()
    contexts = Requests(seed).contexts(3, 8)
    whole = PrefixEngine(model).generate([GenerationRequest(c, 12) for c in contexts])
    ends = [len(whole[0])] + [at % 7 + 1 for at in range(1, len(whole))]
    asked = [
        GenerationRequest(context, 12, stop=lambda tokens, end=end: len(tokens) == end)
        for context, end in zip(contexts, ends, strict=True)
    ]
    heard: dict[int, list[int]] = {}
    engine = engine_of(model, rows=rows, steps=steps, static=static)
    found = engine.generate(asked, on_generated=heard.__setitem__)
    assert found == [one[:end] for one, end in zip(whole, ends, strict=True)]
    assert [heard[at] for at in range(len(asked))] == found


def test_an_answer_up_to_the_model_s_last_position_disturbs_nobody_who_goes_on():
    model = model_of("gpt2")
    requests = Requests(fresh_seed())
    contexts = [requests.tokens(125), requests.tokens(20), requests.tokens(126)]
    lengths = [4, 13, 3]  # the last token of an answer is not read
    expected = [
        alone(model, context, max_new_tokens=length)
        for context, length in zip(contexts, lengths, strict=True)
    ]
    asked = [GenerationRequest(*one) for one in zip(contexts, lengths, strict=True)]
    for static in (False, True):
        assert engine_of(model, steps=8, static=static).generate(asked) == expected


def calls_of(engine) -> list[tuple[list[int], torch.Tensor]]:
    """Fills while the engine generates: the tokens of each step, and its logits."""
    calls = []
    one_more = engine.model.one_more

    def recorded(ids, *rest):
        ids = ids.tolist()
        logits = one_more(torch.tensor(ids), *rest)
        calls.append((ids, logits.clone()))
        return logits

    engine.model.one_more = recorded
    return calls


def test_several_answers_to_one_prompt_grow_side_by_side():
    model = tiny_model("llama")
    model.generation_config.eos_token_id = None
    context = Requests(fresh_seed()).tokens(40)
    engine = engine_of(model, rows=8)
    calls = calls_of(engine)
    asked = [GenerationRequest(context, NEW, seed=seed) for seed in range(8)]
    drawn = engine.generate(asked, {"do_sample": True, "temperature": 2.0})
    assert len({*map(tuple, drawn)}) == 8
    assert [len(ids) for ids, _ in calls] == [8] * (NEW - 1)
    for request, expected in zip(asked, drawn, strict=True):
        options = {"do_sample": True, "temperature": 2.0}
        assert PrefixEngine(model).generate([request], options) == [expected]


@pytest.mark.parametrize("rows", [4, 32])
def test_what_is_known_changes_no_bit_of_the_rest(rows):
    model = tiny_model("qwen2")
    model.generation_config.eos_token_id = None
    seed = fresh_seed()
    asked = [
        GenerationRequest(context, 2 + at % 9)
        for at, context in enumerate(Requests(seed).contexts(4, 8))
    ]
    engine = engine_of(model, rows=rows)
    engine.at_once = replace(engine.at_once, tokens=64)
    calls = calls_of(engine)
    whole = engine.generate(asked)
    run = engine.tokens_run
    generator = torch.Generator().manual_seed(seed)
    unknown = set(torch.randperm(len(asked), generator=generator)[:3].tolist())
    known = {at: tokens for at, tokens in enumerate(whole) if at not in unknown}
    heard: dict[int, list[int]] = {}
    again = engine_of(model, rows=rows)
    again.at_once = replace(again.at_once, tokens=64)
    calls_again = calls_of(again)
    assert again.generate(asked, known=known, on_generated=heard.__setitem__) == whole
    assert set(heard) == unknown
    assert again.tokens_run <= run
    assert again.tokens == engine.tokens
    assert len(calls_again) <= len(calls)


def test_a_normalised_distribution_has_the_same_maximum_and_needs_no_processor():
    model = tiny_model("qwen2")
    context = Requests(fresh_seed()).tokens(20)
    options = {"do_sample": False, "renormalize_logits": True}
    assert GenerationRules(model, options).chooser(context, 0).is_argmax
    found = PrefixEngine(model).generate([GenerationRequest(context, NEW)], options)
    assert found == [alone(model, context, max_new_tokens=NEW, **options)]
    penalised = options | {"repetition_penalty": 1.4}
    assert not GenerationRules(model, penalised).chooser(context, 0).is_argmax
    found = PrefixEngine(model).generate([GenerationRequest(context, NEW)], penalised)
    assert found == [alone(model, context, max_new_tokens=NEW, **penalised)]
    # Draws are made from the distribution, normalised or not.
    drawn = {"do_sample": True, "renormalize_logits": True, "top_k": 5}
    assert not GenerationRules(model, drawn).chooser(context, 0).is_argmax


@pytest.mark.parametrize("megabytes", [2, 3, 16])
@pytest.mark.parametrize("kind", ["qwen2", "eager", "gpt_neox"])
def test_batches_stay_within_the_budget(megabytes, kind):
    model = tiny_model(kind, vocabulary=1000)
    contexts = Requests(fresh_seed(), vocabulary=1000).contexts(3, 20)
    asked = [GenerationRequest(context, NEW) for context in contexts]
    engine = PrefixEngine(model, memory_budget=megabytes * 2**20)
    with PeakMemory() as peak:
        found = engine.generate(asked)
    assert peak.bytes <= engine.budget.bytes
    assert found == PrefixEngine(model).generate(asked)
