"""Exactly the named parts are trained, and what is named and not there is a sentence."""

import pytest
import torch

from tests.unit.training.small import keys_of, model_of, same, samples_of, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.trained_parameters import choose_parts, report


def layers(*numbers):
    return lambda name: any(f"model.layers.{number}." in name for number in numbers)


def wrapper(name):
    return "wrapped_chunk_layers" in name


PARTS = {
    "full": ("qwen2", {"method": "full"}, lambda name: True),
    "one layer": ("qwen2", {"trains": ["layers 2"]}, layers(2)),
    "layers": ("llama", {"trains": ["layers 1 to 3"]}, layers(1, 2, 3)),
    "last": ("qwen3", {"trains": ["last 2 layers"]}, layers(4, 5)),
    "last of the other name": (
        "gpt_neox",
        {"trains": ["last 1 layers"]},
        lambda name: "gpt_neox.layers.5." in name,
    ),
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


def test_adapters_change_and_the_base_does_not(tmp_path):
    before = {n: p.clone() for n, p in model_of("fused").named_parameters()}
    keys = {"method": "lora", "trains": ["wrapper"], "lora_rank": 2, "max_steps": 2}
    trained = train_small(tmp_path, "fused", **keys)
    in_full = {n for n in trained.parameters if "lora_" not in n}
    assert in_full and all(wrapper(name) for name in in_full)
    adapted = {n.rpartition(".lora_A")[0] for n in trained.parameters if "lora_A" in n}
    linear = [n for n, m in model_of("fused").named_modules() if isinstance(m, torch.nn.Linear)]
    expected = {f"base_model.model.{n}" for n in linear if n != "lm_head" and not wrapper(n)}
    assert adapted == expected
    for name, parameter in trained.model.get_base_model().named_parameters():
        if "lora_" not in name:
            own = name.replace(".base_layer", "")
            assert torch.equal(parameter, before[own]) != wrapper(own), own
    assert all(
        float(tensor.abs().max()) > 0 for n, tensor in trained.parameters.items() if "lora_B" in n
    )


def test_adapters_by_name():
    model = choose_parts(model_of("llama"), keys_of(method="lora", lora_targets=["q_proj"]))
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    assert len(names) == 12 and all(".q_proj.lora_" in name for name in names)
    assert report(model, "lora")["trained"] == {
        "low-rank adapters": report(model, "lora")["trained_parameters"]
    }


def test_what_is_trained_is_kept_in_32_bits_and_the_rest_as_it_came():
    model = choose_parts(
        model_of("qwen2").bfloat16(), keys_of(method="freeze", trains=["layers 0"])
    )
    dtypes = {(p.requires_grad, p.dtype) for p in model.parameters()}
    assert dtypes == {(True, torch.float32), (False, torch.bfloat16)}
    assert set(report(model, "freeze")["dtypes"]) == {"trained in float32", "fixed in bfloat16"}


@pytest.mark.parametrize(
    ("kind", "keys", "sentence"),
    [
        ("qwen2", {"method": "freeze", "trains": ["wrapper"]}, "trains names 'wrapper', of which Qwen2"),
        (
            "qwen2",
            {"method": "freeze", "trains": ["layers 1 to 6"]},
            "'layers 1 to 6', and Qwen2ForCausalLM has the layers 0 to 5",
        ),
        ("qwen2", {"method": "freeze", "trains": ["layers 3 to 2"]}, "'layers 3 to 2'"),
        ("qwen2", {"method": "freeze", "trains": ["layers 0", "*.mpl.*"]}, "'*.mpl.*'"),
        ("qwen2", {"method": "lora", "lora_targets": ["qproj"]}, "lora_targets is ['qproj']; Qwen2"),
    ],
)  # fmt: skip
def test_parts_that_are_not_there_are_named(kind, keys, sentence):
    with pytest.raises(UserError) as raised:
        choose_parts(model_of(kind), keys_of(**keys))
    assert sentence in str(raised.value)


def test_checkpointing_changes_nothing_about_what_is_learnt(tmp_path):
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.1, "max_steps": 3}
    plain = train_small(tmp_path / "a", "llama", **keys)
    saving = train_small(tmp_path / "b", "llama", **keys, gradient_checkpointing="yes")
    assert same(plain.parameters, saving.parameters)


def test_samples_longer_than_the_model_looks_back_are_refused(tmp_path):
    with pytest.raises(UserError, match="a sample has 17 tokens; expected at most 16"):
        train_small(
            tmp_path / "state",
            samples=samples_of([5, 17]),
            load=lambda dtype: model_of("qwen2", window=16),
        )
