"""Answers side by side: rows of their own, starts kept once, room for the next; as if each were alone."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch

from bench.peak_memory import PeakMemory
from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import Requests, alone, fresh_seed
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.answer_cache import AnswerCache
from workflow_scripts.evaluation.prefix.answer_rows import STATIC_ENTRIES, AnswerRows
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.choosing import GenerationRules
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.generation_plan import AtOnce, Plan
from workflow_scripts.evaluation.prefix.trie import build_trie

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


def engine_of(model, *, rows=16, steps=1, static=False, shares=True) -> PrefixEngine:
    engine = PrefixEngine(model)
    engine.at_once = replace(engine.at_once, answers=rows, steps=steps, static=static)
    assert engine.model.shares_starts
    if not shares:
        engine.model.__dict__["shares_starts"] = False
    return engine


@pytest.mark.parametrize("kind", [*KINDS, "fused"])
def test_every_architecture_says_what_it_says_alone(kind):
    model = model_of(kind)
    attention = model.config._attn_implementation
    contexts = contexts_of(fresh_seed())
    expected = [alone(model, context, max_new_tokens=NEW) for context in contexts]
    asked = [GenerationRequest(context, NEW) for context in contexts]
    for ways in ({}, {"shares": False}, {"steps": 4, "static": True}):
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


def test_the_keys_of_answers_are_gone_with_the_answers(monkeypatch):
    """At once: whoever comes next may need all of a GPU's memory, and collects no garbage before."""
    kept = []
    filled = AnswerCache.__init__

    def noted(cache, *rest):
        filled(cache, *rest)
        layers = [layer for layer in cache.layers if layer.is_initialized]
        kept.extend(weakref.ref(one) for one in (cache, *layers, layers[0].keys))

    engine = engine_of(tiny_model("qwen2"))
    monkeypatch.setattr(AnswerCache, "__init__", noted)
    asked = [GenerationRequest(context, NEW) for context in contexts_of(fresh_seed())]
    gc.collect()
    gc.disable()
    try:
        engine.generate(asked)
        assert len(kept) > 2
        assert not [one() for one in kept if one() is not None]
    finally:
        gc.enable()


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


def test_an_answer_that_ends_makes_room_for_the_next():
    model = tiny_model("llama")
    requests = Requests(fresh_seed())
    lengths = [13, *[3] * 8]
    # Prompts are answered in the order of their tokens: the long answer begins first.
    asked = [
        GenerationRequest([1 + at, *requests.tokens(8)], length)
        for at, length in enumerate(lengths)
    ]
    model.generation_config.eos_token_id = None
    engine = engine_of(model, rows=3)
    calls = calls_of(engine)
    assert [len(one) for one in engine.generate(asked)] == lengths
    # The first token comes with the prompt: twelve steps for one, and beside it two for each other.
    assert len(calls) == 12
    assert sum(len(ids) for ids, _ in calls) == sum(lengths) - len(lengths)


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
    assert again.tokens_run < run
    assert again.tokens == engine.tokens
    # Each logit of an unknown answer is one of the whole run's, to the bit.
    before = {row.numpy().tobytes() for _, logits in calls for row in logits}
    after = [row.numpy().tobytes() for _, logits in calls_again for row in logits]
    steps = sum(len(whole[at]) - 1 for at in unknown)
    assert sum(row in before for row in after) >= steps
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


@pytest.mark.parametrize("options", [{"do_sample": True}, {"repetition_penalty": 1.2}], ids=str)
def test_nobody_looks_at_the_likeliest_tokens_where_the_rules_choose_others(options, monkeypatch):
    """Each look would wait for the device, and the rules have theirs."""
    options = {"do_sample": False} | options
    asked = [GenerationRequest(context, NEW) for context in contexts_of(fresh_seed())]
    expected = engine_of(tiny_model("qwen2")).generate(asked, options)
    run = AnswerRows.run
    looks = []

    class Likeliest(list):
        def tolist(self):
            looks.append(len(self))
            return self

    def noted(*args):
        likeliest, logits = run(*args)
        return Likeliest(likeliest.tolist()), logits

    engine = engine_of(tiny_model("qwen2"), steps=4)
    monkeypatch.setattr(AnswerRows, "run", noted)
    assert engine.generate(asked, options) == expected
    assert not looks
    engine.generate(asked, {"do_sample": False})
    assert set(looks) == {4}


@pytest.mark.parametrize("megabytes", [2, 3, 16])
@pytest.mark.parametrize("kind", ["qwen2", "eager", "gpt_neox"])
def test_families_stay_within_the_budget(megabytes, kind):
    model = tiny_model(kind, vocabulary=1000)
    contexts = Requests(fresh_seed(), vocabulary=1000).contexts(3, 20)
    asked = [GenerationRequest(context, NEW) for context in contexts]
    engine = PrefixEngine(model, memory_budget=megabytes * 2**20)
    assert engine.model.shares_starts
    with PeakMemory() as peak:
        found = engine.generate(asked)
    assert peak.bytes <= engine.budget.bytes
    assert found == PrefixEngine(model).generate(asked)


def test_the_logits_of_recorded_steps_are_in_the_plan():
    model = tiny_model("qwen2", vocabulary=5000)
    asked = [GenerationRequest(c, 300) for c in Requests(fresh_seed()).contexts(3, 8)]
    trie, places = build_trie([request.context for request in asked])
    pace = AtOnce(tokens=64, answers=len(asked), steps=8, static=True)

    causal = PrefixEngine(model).model

    def plan(megabytes: int, records: bool) -> Plan:
        causal.records_steps = records
        budget = Budget.of(causal, megabytes * 2**20)
        return Plan.of(causal, trie, places, asked, budget, pace)

    assert plan(100, True).shape == plan(100, False).shape
    fewer = 0
    for megabytes in range(5, 30):
        shape, bare = plan(megabytes, True).shape, plan(megabytes, False).shape
        fewer += shape.rows < bare.rows
        widths = {
            min(1 << (rows - 1).bit_length(), shape.rows) for rows in range(1, shape.rows + 1)
        }
        logits = sum(widths) * (shape.own // STATIC_ENTRIES) * 5000 * 4
        answers = shape.entries * 2 * 3 * model.config.num_key_value_heads * 8 * 4
        assert logits + answers < megabytes * 2**20 or shape.rows == 1
    assert fewer
