"""Exactly the named parts are trained, and what is named and not there is a sentence."""

import re

import pytest
import torch

from tests.unit.training.small import keys_of, model_of, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.trainable_parameters import select_trainable


def layers(*numbers):
    return lambda name: any(f"model.layers.{number}." in name for number in numbers)


def wrapper(name):
    return "wrapped_chunk_layers" in name


PARTS = {
    "full": ("qwen2", {"method": "full"}, lambda name: True),
    "one layer": ("qwen2", {"trains": ["layers 2"]}, layers(2)),
    "layers": ("llama", {"trains": ["layers 1 to 3"]}, layers(1, 2, 3)),
    "last": ("qwen3", {"trains": ["last 2 layers"]}, layers(4, 5)),
    "other names": ("gpt_neox", {"trains": ["last 1 layers"]}, lambda n: "gpt_neox.layers.5." in n),
    "wrapper": ("fused", {"trains": ["wrapper"]}, wrapper),
    "chunked layers": ("fused", {"trains": ["chunked_layers"]}, layers(1, 2, 3, 4)),
    "both": (
        "loop",
        {"trains": ["chunked_layers", "wrapper"]},
        lambda name: wrapper(name) or layers(1, 2, 3, 4)(name),
    ),
    "pattern": ("qwen2", {"trains": ["*.mlp.*"]}, lambda name: ".mlp." in name),
}


@pytest.mark.parametrize("name", PARTS)
def test_exactly_the_named_parameters_change(tmp_path, name):
    kind, keys, belongs = PARTS[name]
    before = {n: p.clone() for n, p in model_of(kind).named_parameters()}
    expected = {n for n in before if belongs(n)}
    assert expected
    trained = train_small(tmp_path, kind, **{"method": "freeze", "max_steps": 2, **keys})
    after = dict(trained.model.named_parameters())
    assert {n for n in before if not torch.equal(before[n], after[n])} == expected
    assert set(trained.parameters) == expected
    assert trained.report["trained_parameters"] == sum(before[n].numel() for n in expected)


@pytest.mark.parametrize(
    ("targets", "layers"), [(["q_proj"], {"q_proj"}), (["usual"], {"q_proj", "v_proj"})]
)
def test_adapters_by_name(targets, layers):
    """PEFT's usual layers of a chunked model are those of its base."""
    model = select_trainable(model_of("fused"), keys_of(method="lora", lora_targets=targets))
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    assert names and {name.split(".lora_")[0].rpartition(".")[2] for name in names} == layers


def test_what_is_trained_is_kept_in_32_bits_and_the_rest_as_it_came():
    keys = keys_of(method="freeze", trains=["layers 0"])
    model = select_trainable(model_of("qwen2").bfloat16(), keys)
    dtypes = {(p.requires_grad, p.dtype) for p in model.parameters()}
    assert dtypes == {(True, torch.float32), (False, torch.bfloat16)}


@pytest.mark.parametrize("part", ["wrapper", "layers 6 to 7", "*.mpl.*"])
def test_parts_that_are_not_there_are_named(part):
    with pytest.raises(UserError, match=f"trains names {re.escape(repr(part))}, of which Qwen2"):
        select_trainable(model_of("qwen2"), keys_of(method="freeze", trains=["layers 0", part]))


def test_checkpointing_changes_nothing_about_what_is_learnt(tmp_path):
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.1, "max_steps": 3}
    plain = train_small(tmp_path / "a", "llama", **keys)
    checkpointed = train_small(tmp_path / "b", "llama", **keys, gradient_checkpointing="yes")
    assert same(plain.parameters, checkpointed.parameters)
