"""Switch a model from training to evaluation mode and back."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import torch

from workflow_scripts.core.seeds import isolate_rng
from workflow_scripts.training.attention import remove_packing
from workflow_scripts.training.trainable_parameters import get_trained_parameters


def to_eval_mode(model):
    """Turn off dropout, and restore the usual attention and the dtype in which the model was loaded.

    Trained parameters are float32. Adapters stay float32, as PEFT casts them when needed; other parameters are rounded,
    as in a written checkpoint.
    """
    remove_packing(model)
    for parameter in _list_rounded_parameters(model):
        parameter.data = parameter.data.to(model.config.dtype)
    return model.eval()


def _list_rounded_parameters(model) -> list[torch.nn.Parameter]:
    trained = get_trained_parameters(model)
    return [trained[name] for name in trained if "lora_" not in name]


@contextmanager
def preserve_training_state(model) -> Iterator[None]:
    """Switch to evaluation, and afterwards restore random state, attention and parameters of the training."""
    random_state, numpy_state = random.getstate(), numpy.random.get_state()
    attention = model.config._attn_implementation
    unrounded = [(parameter, parameter.data) for parameter in _list_rounded_parameters(model)]
    with isolate_rng(model.device):
        to_eval_mode(model)
        try:
            yield
        finally:
            for parameter, data in unrounded:
                parameter.data = data
            model.set_attn_implementation(attention)
            random.setstate(random_state)
            numpy.random.set_state(numpy_state)
