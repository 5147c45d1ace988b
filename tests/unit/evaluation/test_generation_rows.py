"""Answers side by side: rows of their own, starts kept once, room for the next; as if each were alone."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)

from bench.peak_memory import PeakMemory
from tests.unit.chunked.reference import VOCABULARY, base_model, chunked_model
from tests.unit.evaluation.tiny_models import Requests, fresh_seed, make_model
from workflow_scripts.evaluation.prefix.answer_cache import AnswerCache
from workflow_scripts.evaluation.prefix.answer_rows import STATIC_ENTRIES, AnswerRows
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.choosing import GenerationRules
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.families import Families
from workflow_scripts.evaluation.prefix.generation import GenerationRequest
from workflow_scripts.evaluation.prefix.generation_plan import Pace, Plan
from workflow_scripts.evaluation.prefix.seats import Seats
from workflow_scripts.evaluation.prefix.trie import build_trie

NEW = 9
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": None,
    "pad_token_id": 0,
}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8} | SHAPE
CONFIGS: dict[str, Callable] = {
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=3, n_head=4, n_positions=128,
        initializer_range=0.3, bos_token_id=0, eos_token_id=None, pad_token_id=0,
    ),
    "gpt_neox": lambda: GPTNeoXConfig(**SHAPE),
    "llama": lambda: LlamaConfig(**GROUPED),
    "qwen1.5": lambda: Qwen2Config(num_key_value_heads=4, **SHAPE),
    "qwen2": lambda: Qwen2Config(num_key_value_heads=2, **SHAPE),
    "qwen2 with some windows": lambda: Qwen2Config(
        num_key_value_heads=2, use_sliding_window=True, sliding_window=11, max_window_layers=1, **SHAPE
    ),
    "qwen3": lambda: Qwen3Config(**GROUPED),
    "gemma": lambda: GemmaConfig(**{**GROUPED, "num_key_value_heads": 1}),
    "gemma2": lambda: Gemma2Config(
        sliding_window=11, attn_logit_softcapping=2.0, final_logit_softcapping=5.0,
        query_pre_attn_scalar=8, **GROUPED,
    ),
    "windows": lambda: MistralConfig(sliding_window=11, **GROUPED),
}  # fmt: skip


def model_of(kind: str):
    torch.manual_seed(0)
    if kind == "chunked":
        plan = {"num_layers_per_chunk": 2, "num_chunks": 2}
        model = chunked_model(base_model("qwen2", 4), "qwen2", aggregation_mode="mean", **plan)
        model.generation_config.eos_token_id = None
        return model
    return AutoModelForCausalLM.from_config(CONFIGS[kind]()).eval()


def contexts_of(seed: int) -> list[list[int]]:
    """Two families of eight and one of four, and some of none."""
    requests = Requests(seed, VOCABULARY)
    contexts = requests.contexts(2, 8)
    start = requests.tokens(40)
    contexts += [start, *([*start, *requests.tokens(1, 5)] for _ in range(3))]
    return [*contexts, requests.tokens(1), requests.tokens(2, 40), requests.tokens(60)]


def alone(model, context: list[int], **options) -> list[int]:
    ids = torch.tensor([context])
    options = {"do_sample": False, "max_new_tokens": NEW} | options
    found = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
    return found[0, len(context) :].tolist()


def engine_of(model, *, rows=16, steps=1, static=False, shares=True) -> PrefixEngine:
    engine = PrefixEngine(model)
    engine.answers_at_once, engine.steps_at_once, engine.static_shapes = rows, steps, static
    assert engine.model.shares_starts
    if not shares:
        engine.model.__dict__["shares_starts"] = False
    return engine


@pytest.mark.parametrize("kind", [*CONFIGS, "chunked"])
def test_every_architecture_says_what_it_says_alone(kind):
    model = model_of(kind)
    attention = model.config._attn_implementation
    contexts = contexts_of(fresh_seed())
    expected = [alone(model, context) for context in contexts]
    asked = [GenerationRequest(context, NEW) for context in contexts]
    for ways in ({}, {"shares": False}, {"steps": 4, "static": True}):
        engine = engine_of(model, **ways)
        assert engine.generate(asked, {"do_sample": False}) == expected, ways
        assert model.config._attn_implementation == attention


@pytest.mark.parametrize("rows", [1, 5, 9, 32])
@pytest.mark.parametrize(("steps", "static"), [(1, False), (3, False), (8, True)])
def test_answers_of_many_lengths_stop_where_they_would_alone(rows, steps, static):
    model = make_model("qwen2")
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
    requests = Requests(fresh_seed(), VOCABULARY)
    contexts = [requests.tokens(125), requests.tokens(20), requests.tokens(126)]
    lengths = [4, 13, 3]  # the last token of an answer is not read
    expected = [
        alone(model, context, max_new_tokens=length)
        for context, length in zip(contexts, lengths, strict=True)
    ]
    asked = [GenerationRequest(*one) for one in zip(contexts, lengths, strict=True)]
    for static in (False, True):
        assert engine_of(model, steps=8, static=static).generate(asked) == expected


def test_a_family_fills_a_lane_before_it_takes_the_next():
    seats = Seats(rows=6, lanes=2, per_lane=2)
    assert all(seats.take(row, family) for row, family in [(0, 7), (2, 7), (1, 8)])
    assert seats.of_row[0][0] == seats.of_row[2][0] != seats.of_row[1][0]
    assert not seats.take(3, 7), "its lane is full, and the other is somebody's"
    assert seats.take(3, 8)
    seats.leave(0)
    seats.leave(2)
    assert seats.take(4, 9)
    assert seats.of_row[4][0] == 0
    seats.move(4, 0)
    seats.leave(0)
    assert seats.take(5, 7)


def test_the_keys_of_answers_are_gone_with_the_answers(monkeypatch):
    """At once: whoever comes next may need all of a GPU's memory, and collects no garbage before."""
    kept = []
    filled = AnswerCache.__init__

    def noted(cache, *rest):
        filled(cache, *rest)
        layers = [layer for layer in cache.layers if layer.is_initialized]
        kept.extend(weakref.ref(one) for one in (cache, *layers, layers[0].keys))

    engine = engine_of(make_model("qwen2"))
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
    model = make_model("llama")
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
    model = make_model("llama")
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
    model = make_model("qwen2")
    model.generation_config.eos_token_id = None
    seed = fresh_seed()
    asked = [
        GenerationRequest(context, 2 + at % 9)
        for at, context in enumerate(Requests(seed).contexts(4, 8))
    ]
    engine = engine_of(model, rows=rows)
    engine.tokens_per_call = 64
    calls = calls_of(engine)
    whole = engine.generate(asked)
    run = engine.tokens_run
    generator = torch.Generator().manual_seed(seed)
    unknown = set(torch.randperm(len(asked), generator=generator)[:3].tolist())
    known = {at: tokens for at, tokens in enumerate(whole) if at not in unknown}
    heard: dict[int, list[int]] = {}
    again = engine_of(model, rows=rows)
    again.tokens_per_call = 64
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
    model = make_model("qwen2")
    context = Requests(fresh_seed()).tokens(20)
    options = {"do_sample": False, "renormalize_logits": True}
    assert GenerationRules(model, options).chooser(context, 0).is_argmax
    found = PrefixEngine(model).generate([GenerationRequest(context, NEW)], options)
    assert found == [alone(model, context, **options)]
    penalised = options | {"repetition_penalty": 1.4}
    assert not GenerationRules(model, penalised).chooser(context, 0).is_argmax
    found = PrefixEngine(model).generate([GenerationRequest(context, NEW)], penalised)
    assert found == [alone(model, context, **penalised)]
    # Draws are made from the distribution, normalised or not.
    drawn = {"do_sample": True, "renormalize_logits": True, "top_k": 5}
    assert not GenerationRules(model, drawn).chooser(context, 0).is_argmax


@pytest.mark.parametrize("options", [{"do_sample": True}, {"repetition_penalty": 1.2}], ids=str)
def test_nobody_looks_at_the_likeliest_tokens_where_the_rules_choose_others(options, monkeypatch):
    """Each look would wait for the device, and the rules have theirs."""
    options = {"do_sample": False} | options
    asked = [GenerationRequest(context, NEW) for context in contexts_of(fresh_seed())]
    expected = engine_of(make_model("qwen2")).generate(asked, options)
    run = AnswerRows.run
    looks = []

    class Likeliest(list):
        def tolist(self):
            looks.append(len(self))
            return self

    def noted(*args):
        likeliest, logits = run(*args)
        return Likeliest(likeliest.tolist()), logits

    engine = engine_of(make_model("qwen2"), steps=4)
    monkeypatch.setattr(AnswerRows, "run", noted)
    assert engine.generate(asked, options) == expected
    assert not looks
    engine.generate(asked, {"do_sample": False})
    assert set(looks) == {4}


def test_families_are_neighbours_with_half_of_the_longest_in_common():
    requests = Requests(fresh_seed())
    start, other = requests.tokens(40), requests.tokens(40)
    family = [[*start, 300 + at, *requests.tokens(0, 30)] for at in range(4)]
    lone = [requests.tokens(30) for _ in range(3)]
    half = [other + requests.tokens(45)]  # shares less than half of itself
    trie, places = build_trie([*family, *lone, *half, other])
    asked = torch.bincount(torch.from_numpy(places)).numpy()
    families = Families.find(trie, asked, 4)
    assert len({families.of[place] for place in places[:4]}) == 1
    assert set(families.common[places[:4]]) == {40}
    assert set(families.of[places[4:]]) == {-1}
    assert set(Families.find(trie, asked, 5).of) == {-1}
    again = asked + 1  # each asked twice, as where several answers to a prompt are drawn
    assert Families.find(trie, again, 8).common[places[0]] == 40


@pytest.mark.parametrize("megabytes", [2, 3, 16])
@pytest.mark.parametrize("kind", ["qwen2", "eager", "gpt_neox"])
def test_families_stay_within_the_budget(megabytes, kind):
    model = make_model(kind, vocabulary=1000)
    contexts = Requests(fresh_seed(), vocabulary=1000).contexts(3, 20)
    asked = [GenerationRequest(context, NEW) for context in contexts]
    engine = PrefixEngine(model, memory_budget=megabytes * 2**20)
    assert engine.model.shares_starts
    with PeakMemory() as peak:
        found = engine.generate(asked)
    assert peak.bytes <= engine.budget.bytes
    assert found == PrefixEngine(model).generate(asked)


def test_the_logits_of_recorded_steps_are_in_the_plan():
    model = make_model("qwen2", vocabulary=5000)
    asked = [GenerationRequest(c, 300) for c in Requests(fresh_seed()).contexts(3, 8)]
    trie, places = build_trie([request.context for request in asked])
    pace = Pace(tokens=64, answers=len(asked), steps=8, static=True)

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
        answers = shape.entries * 2 * 3 * model.config.num_key_value_heads * 12 * 4
        assert logits + answers < megabytes * 2**20 or shape.rows == 1
    assert fewer


@pytest.mark.gpus(1)
def test_recorded_steps_say_what_steps_say():
    model = make_model("qwen2").cuda()
    contexts = Requests(fresh_seed()).contexts(4, 12)
    asked = [GenerationRequest(context, NEW) for context in contexts]
    engine = PrefixEngine(model)
    plain = engine_of(model, rows=64, steps=1, static=False)
    assert engine.generate(asked) == plain.generate(asked)
    assert engine.model.records_steps, "recording has not failed"
