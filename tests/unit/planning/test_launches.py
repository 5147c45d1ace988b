"""What planning takes a layer of a training step to launch is what is counted."""

from functools import partial

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import Qwen2Config, Qwen2ForCausalLM

from tests.launches import Launches
from tests.tiny_models import chunked_model, tiny_model
from workflow_scripts.planning.arithmetic import (
    Speed,
)
from workflow_scripts.planning.memory import Size, TrainingWay

# A device that computes and reads at once, and takes one second to launch a layer's kernels.
WAITS = Speed("float32", operations=1e30, trained_operations=1e30, bandwidth=1e30, layer=1.0)
TARGETS = {"lora": "all-linear", "lora_in_some": ["q_proj", "v_proj"]}
ONE_LAYER = Size(parameters=1, layers=1, vocabulary=1)


def model_of(layers, method):
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=50,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
    )
    if method in TARGETS:
        adapters = LoraConfig(r=2, lora_dropout=0.1, target_modules=TARGETS[method])
        model = get_peft_model(model, adapters)
    return model


def of_a_layer(run, method="full", made=model_of):
    """Counted on models of two and of five layers: what is outside of the layers falls out."""
    counts = []
    for layers in (2, 5):
        model = made(layers, method)
        with Launches() as launches:
            run(model)
        counts.append(launches.count)
    return (counts[1] - counts[0]) / 3


def forward(model):
    with torch.inference_mode():
        model.eval()(torch.arange(9)[None], use_cache=False)


def step(model):
    ids = torch.arange(9)[None]
    model.train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    loss.backward()


def checkpointed_step(model):
    model.gradient_checkpointing_enable()
    if hasattr(model, "peft_config"):
        model.enable_input_require_grads()
    step(model)


@pytest.mark.parametrize("method", ["full", *TARGETS])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_training_step_launches_as_many_kernels_a_layer_as_planned(method, checkpointed):
    counted = of_a_layer(checkpointed_step if checkpointed else step, method)
    way = TrainingWay(method, checkpointed=checkpointed)
    planned = WAITS.training(ONE_LAYER, way, 1, passes=1)
    assert counted / of_a_layer(forward) == pytest.approx(planned, rel=0.15)
    assert WAITS.reading(ONE_LAYER, 1, passes=1) == 1


def test_a_teacher_s_pass_launches_what_reading_does():
    def made(layers, method, **taught):
        plan = {"num_chunks": 2, "num_layers_per_chunk": 1, "layers_before_chunks": 1}
        base = tiny_model("qwen2", layers=layers + 2)
        return chunked_model(base, **plan, chunk_execution="loop", **taught)

    more = of_a_layer(step, made=partial(made, logits_distillation=True))
    more -= of_a_layer(step, made=made)
    planned = WAITS.training(ONE_LAYER, TrainingWay("full", distilled=True), 1, passes=1)
    planned -= WAITS.training(ONE_LAYER, TrainingWay("full"), 1, passes=1)
    assert more / of_a_layer(forward, made=made) == pytest.approx(planned, rel=0.15)
