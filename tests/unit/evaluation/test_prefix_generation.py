"""Generation of the engine: the tokens that transformers' generate gives to each prompt alone."""

from dataclasses import replace

import pytest

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import Requests, WithoutCache, alone, fresh_seed
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.choosing import UnsupportedGeneration
from workflow_scripts.evaluation.prefix.engine import PrefixEngine

NEW = 10


def without_cache() -> WithoutCache:
    model = WithoutCache()
    model._prepare_generation_config = model.inner._prepare_generation_config
    model._prepare_special_tokens = model.inner._prepare_special_tokens
    model._get_logits_processor = model.inner._get_logits_processor
    return model


def contexts_of(seed: int) -> list[list[int]]:
    contexts = Requests(seed).contexts()
    return [*contexts, contexts[0], Requests(seed + 1).tokens(1)]


@pytest.mark.parametrize("kind", ["qwen2", "llama", "gpt_neox", "peft", "windowed", "pruned"])
@pytest.mark.parametrize("options", [{}, {"repetition_penalty": 1.3}], ids=["greedy", "penalty"])
def test_greedy_is_what_generate_gives_to_each_alone(kind, options):
    model = tiny_model(kind)
    contexts = contexts_of(fresh_seed())
    # Of a pruned model transformers counts its cache by the config.
    given = options | {"max_new_tokens": NEW, "use_cache": kind != "pruned"}
    expected = [alone(model, context, **given) for context in contexts]
    for at_once in (32, 3, 1):
        engine = PrefixEngine(model)
        engine.at_once = replace(engine.at_once, answers=at_once)
        asked = [GenerationRequest(context, NEW) for context in contexts]
        assert engine.generate(asked, {"do_sample": False} | options) == expected
        assert engine.tokens - sum(len(one) - 1 for one in expected) == engine.trie_tokens


def test_end_tokens_lengths_and_stops_are_each_request_s_own():
    model = tiny_model("qwen2")
    context = Requests(fresh_seed()).tokens(12)
    (whole,) = PrefixEngine(model).generate([GenerationRequest(context, NEW)])
    model.generation_config.eos_token_id = [whole[4]]
    first = whole.index(whole[4])
    asked = [
        GenerationRequest(context, NEW),
        GenerationRequest(context, 2),
        GenerationRequest(context, NEW, stop=lambda tokens: len(tokens) == 3),
    ]
    ends = [first + 1, min(2, first + 1), min(3, first + 1)]
    assert PrefixEngine(model).generate(asked) == [whole[:end] for end in ends]


def test_drawn_tokens_depend_on_the_request_s_seed_alone():
    model = tiny_model("llama")
    contexts = contexts_of(fresh_seed())
    asked = [GenerationRequest(c, NEW, seed=100 + at) for at, c in enumerate(contexts)]
    options = {"do_sample": True, "temperature": 1.5, "top_k": 50}
    expected = PrefixEngine(model).generate(asked, options)
    engine = PrefixEngine(model, tokens_per_call=16)
    engine.at_once = replace(engine.at_once, answers=2)
    assert engine.generate(asked[::-1], options)[::-1] == expected
    other = [GenerationRequest(c, NEW, seed=at) for at, c in enumerate(contexts)]
    assert engine.generate(other, options) != expected
    greedy = engine.generate(asked, {"do_sample": False})
    assert greedy != expected


def test_a_model_without_a_cache_generates_all_the_same():
    model = tiny_model("qwen2")
    contexts = contexts_of(fresh_seed())
    expected = PrefixEngine(model).generate([GenerationRequest(c, NEW) for c in contexts])
    without = without_cache()
    without.inner.load_state_dict(model.state_dict())
    engine = PrefixEngine(without)
    assert engine.description.startswith("plain batches")
    assert engine.generate([GenerationRequest(c, NEW) for c in contexts]) == expected


def test_what_only_transformers_own_loop_can_do_is_refused_by_name():
    engine = PrefixEngine(tiny_model("qwen2"))
    asked = [GenerationRequest([1, 2], NEW)]
    with pytest.raises(UnsupportedGeneration, match="beam_search"):
        engine.generate(asked, {"num_beams": 3})
    with pytest.raises(UnsupportedGeneration, match="'no_such_thing'"):
        engine.generate(asked, {"no_such_thing": 3})
    with pytest.raises(UserError, match="at least one token to read and one to write"):
        engine.generate([GenerationRequest([], NEW)])
    with pytest.raises(UnsupportedGeneration, match="WithoutCache is not a transformers model"):
        PrefixEngine(WithoutCache()).generate(asked)
    assert engine.generate([]) == []
