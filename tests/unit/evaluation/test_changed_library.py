"""A library that changed is told from a model that was never supported: on the log and in the record."""

import inspect

import pytest
import torch
from transformers import GenerationMixin

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Requests, WithoutCache, plain_score
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.cache import TreeCache
from workflow_scripts.evaluation.prefix.changed_library import NEEDED, changed_library
from workflow_scripts.evaluation.prefix.choosing import UnsupportedGeneration
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.model import CausalModel

SAID = "the installed transformers does not behave as expected"


@pytest.fixture(autouse=True)
def asked_anew():
    changed_library.cache_clear()
    yield
    changed_library.cache_clear()


def refuse_the_cache(*_args, **_kwargs):
    raise TypeError("update() takes no such argument")


def ignore_the_mask(model, monkeypatch):
    """As a library that makes its own mask whatever it is given."""
    forward = type(model).forward

    def without_mask(self, *args, attention_mask=None, **kwargs):
        return forward(self, *args, **kwargs)

    without_mask.__signature__ = inspect.signature(forward)
    monkeypatch.setattr(type(model), "forward", without_mask)


def test_the_installed_transformers_behaves_as_expected(capsys):
    state = torch.random.get_rng_state()
    assert changed_library(CausalModel) is None
    assert torch.equal(torch.random.get_rng_state(), state)
    assert capsys.readouterr().out == ""
    changed_library.cache_clear()  # and whatever precision the caller runs in
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        assert changed_library(CausalModel) is None


def test_an_architecture_that_was_never_supported_is_the_reason_itself(capsys):
    description = PrefixEngine(WithoutCache()).description
    assert description.startswith(
        "plain batches: it cannot be called with a cache and a tree mask ("
    )
    assert SAID not in description
    assert "WARNING" not in capsys.readouterr().out


def test_a_library_that_no_longer_takes_our_cache_is_named_in_record_and_log(monkeypatch, capsys):
    monkeypatch.setattr(TreeCache, "update", refuse_the_cache)
    engine = PrefixEngine(tiny_model("qwen2"))
    assert engine.description == (
        f"plain batches: {SAID} (of a plain Llama, it cannot be called with a cache and a tree mask"
        " (TypeError))"
    )
    said = capsys.readouterr().out
    assert said.count(f"WARNING: {SAID}") == 1
    assert "The model is not run packed: TypeError('update() takes no such argument')" in said
    PrefixEngine(tiny_model("llama"))
    assert "WARNING" not in capsys.readouterr().out, "once is enough"
    requests = Requests(1).mixed()[:3]
    found = engine.loglikelihoods(requests, window=WINDOW)
    for (value, greedy), request in zip(found, requests, strict=True):
        expected = plain_score(engine.model.model, *request)
        assert (value, greedy) == (pytest.approx(expected[0], abs=1e-4), expected[1])


def test_a_library_that_no_longer_takes_our_mask_is_named(monkeypatch, capsys):
    model = tiny_model("llama")
    ignore_the_mask(model, monkeypatch)
    description = PrefixEngine(model).description
    assert description.startswith(f"plain batches: {SAID} (of a plain Llama, with a cache and a")
    assert "WARNING" in capsys.readouterr().out


def all_logits(forward):
    def of_all(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None,
               use_cache=None, cascade=None):  # fmt: skip
        others = {} if cascade is None else {"cascade": cascade}
        return forward(self, input_ids, attention_mask=attention_mask, position_ids=position_ids,
                       past_key_values=past_key_values, use_cache=use_cache, **others)  # fmt: skip

    return of_all


def own_attention(forward):
    def without(self, *args, cascade=None, **kwargs):
        return forward(self, *args, **kwargs)

    without.__signature__ = inspect.signature(forward)
    return without


@pytest.mark.parametrize(
    ("change", "described", "said"),
    [
        (all_logits, "prefix sharing", "computes all logits"),
        (own_attention, "prefix sharing, with masks of tokens and keys: ", "where it attends branch by branch"),
    ],
)  # fmt: skip
def test_a_library_that_is_only_slower_is_warned_of_and_still_shares_prefixes(
    monkeypatch, capsys, change, described, said
):
    model = tiny_model("llama")
    monkeypatch.setattr(type(model), "forward", change(type(model).forward))
    assert PrefixEngine(model).description.startswith(described)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("name", NEEDED)
def test_a_library_whose_generation_lacks_a_name_is_named(name, monkeypatch, capsys):
    engine = PrefixEngine(tiny_model("qwen2"))
    monkeypatch.delattr(GenerationMixin, name)
    with pytest.raises(UnsupportedGeneration, match=rf"{SAID} \(GenerationMixin has no {name}\)"):
        engine.generate([GenerationRequest([1, 2], 2)])
    assert f"WARNING: {SAID}" in capsys.readouterr().out


def test_a_model_that_does_not_generate_is_the_reason_itself(capsys):
    engine = PrefixEngine(WithoutCache())
    with pytest.raises(UnsupportedGeneration, match="WithoutCache is not a transformers model"):
        engine.generate([GenerationRequest([1, 2], 2)])
    assert "WARNING" not in capsys.readouterr().out
