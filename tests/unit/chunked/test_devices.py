"""Chunk i on device i, as far as a machine without GPUs can show it."""

import pytest
import torch
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from transformers import AutoModelForCausalLM

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, reference_logits
from workflow_scripts.chunked.devices import chunk_device_map
from workflow_scripts.core.errors import UserError


def test_the_map_puts_each_chunk_on_its_device_and_the_rest_on_the_first():
    model = chunked_model(base_model("qwen2", 6), **PLAN)
    device_map = chunk_device_map(model.config, ["cuda:0", "cuda:1"])
    layers = [device_map[f"model.layers.{number}"] for number in range(6)]
    assert layers == ["cuda:0", "cuda:0", "cuda:1", "cuda:0", "cuda:1", "cuda:0"]
    for number in (2, 4):
        assert device_map[f"model.wrapped_chunk_layers.adapters.{number}"] == "cuda:1"
    parameters = [name for name, _ in model.named_parameters()]
    assert all(any(name.startswith(key + ".") for key in device_map) for name in parameters)


def test_more_chunks_than_devices_share_them_in_turn():
    model = chunked_model(base_model("qwen2", 6), num_layers_per_chunk=1, num_chunks=6)
    device_map = chunk_device_map(model.config, ["a", "b"])
    assert [device_map[f"model.layers.{n}"] for n in range(6)] == ["a", "b"] * 3
    with pytest.raises(UserError, match="at least one device"):
        chunk_device_map(model.config, [])


@torch.no_grad()
def test_a_model_that_accelerate_has_placed_gives_the_same_logits():
    """accelerate moves inputs to each layer's device by hooks; they must not be passed by."""
    base = base_model("qwen2", 6)
    model = chunked_model(base, **PLAN)
    ids = fresh_ids(2, 5)
    expected = model.generate(ids, max_new_tokens=4, do_sample=False)
    spread = chunked_model(base, **PLAN)
    spread.load_state_dict(model.state_dict())
    moved = []

    class Noted(AlignDevicesHook):
        def pre_forward(self, module, *args, **kwargs):
            moved.append(module)
            return super().pre_forward(module, *args, **kwargs)

    for name in chunk_device_map(spread.config, ["cpu"]):
        if name != "lm_head" and "wrapped" not in name:
            add_hook_to_module(spread.get_submodule(name), Noted(execution_device="cpu"))
    assert_equal(spread(ids).logits, reference_logits(base, model, ids))
    assert {id(module) for module in moved} >= {id(layer) for layer in spread.model.layers}
    assert torch.equal(spread.generate(ids, max_new_tokens=4, do_sample=False), expected)


@pytest.mark.gpus(2)
@torch.no_grad()
def test_two_gpus(tmp_path):
    model = chunked_model(base_model("qwen2", 6), **PLAN)
    model.save_pretrained(tmp_path)
    device_map = chunk_device_map(model.config, [0, 1])
    spread = AutoModelForCausalLM.from_pretrained(tmp_path, device_map=device_map)
    ids = fresh_ids(2, 5)
    assert torch.allclose(spread(ids.cuda()).logits.cpu(), model(ids).logits, atol=1e-4)
