"""A model that is trained, or was, as an evaluation runs any other."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import torch

from workflow_scripts.core.seeds import isolate_rng
from workflow_scripts.training.attention import remove_packing
from workflow_scripts.training.trainable_parameters import trained_parameters


def to_eval_mode(model):
    """Without dropout, with the usual attention, in the number format that it was loaded in.

    What is trained is kept in float32. Adapters stay in it, which PEFT turns into the format of what they
    stand beside; other parameters are rounded, as they are when a checkpoint is written.
    """
    remove_packing(model)
    for _, parameter in _rounded(model):
        parameter.data = parameter.data.to(model.config.dtype)
    return model.eval()


def _rounded(model) -> list[tuple[str, torch.nn.Parameter]]:
    trained = trained_parameters(model)
    return [(name, trained[name]) for name in trained if "lora_" not in name]


@contextmanager
def preserve_training_state(model) -> Iterator[None]:
    """What an evaluation draws, and how it has the model run, is nothing to the training."""
    states = random.getstate(), numpy.random.get_state()
    attends, training = model.config._attn_implementation, model.training
    exact = {name: parameter.data for name, parameter in _rounded(model)}
    with isolate_rng(model.device):
        to_eval_mode(model)
        try:
            yield
        finally:
            for name, parameter in _rounded(model):
                parameter.data = exact[name]
            model.set_attn_implementation(attends)
            model.train(training)
            random.setstate(states[0])
            numpy.random.set_state(states[1])
