"""Test that exactly the named modules are trained."""

import re

import pytest
import torch

from tests.unit.training.tiny_training import make_keys, make_model, train_tiny
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.trainable_parameters import select_trainable

PARTS = [
    ("qwen2", [], "."),
    ("llama", ["*.layers.[123].*"], r"model\.layers\.[123]\."),
    ("gpt_neox", ["last 2 layers"], r"gpt_neox\.layers\.[23]\."),
    ("fused", ["wrapper"], "wrapped_chunk_layers"),
    ("fused", ["chunked_layers"], r"model\.layers\.[1-4]\."),
    ("qwen2", ["*.mlp.*"], r"\.mlp\."),
]


@pytest.mark.parametrize(("kind", "trainable_modules", "pattern"), PARTS)
def test_named_parameters_change(tmp_path, kind, trainable_modules, pattern):
    before = {n: p.clone() for n, p in make_model(kind).named_parameters()}
    expected = {name for name in before if re.search(pattern, name)}
    method = "freeze" if trainable_modules else "full"
    trained = train_tiny(
        tmp_path,
        kind,
        method=method,
        trainable_modules=trainable_modules,
        max_steps=1,
        warmup_ratio=0.0,
    )
    after = dict(trained.model.named_parameters())
    assert {n for n in before if not torch.equal(before[n], after[n])} == expected
    assert set(trained.parameters) == expected
    assert trained.report["trained_parameters"] == sum(before[n].numel() for n in expected)


@pytest.mark.parametrize(
    ("targets", "layers"), [(["q_proj"], {"q_proj"}), (["usual"], {"q_proj", "v_proj"})]
)
def test_adapters_by_name(targets, layers):
    """PEFT's default target modules of a chunked model are those of its base."""
    model = select_trainable(
        make_model("fused"), make_keys(method="lora", lora_target_modules=targets)
    )
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    assert {name.split(".lora_")[0].rpartition(".")[2] for name in names} == layers


@pytest.mark.parametrize("part", ["wrapper", "*.mpl.*"])
def test_missing_parts_are_refused(part):
    with pytest.raises(UserError, match=re.escape(repr(part))):
        select_trainable(
            make_model("qwen2"),
            make_keys(method="freeze", trainable_modules=["*.layers.0.*", part]),
        )
