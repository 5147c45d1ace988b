"""Compute the losses of self-distillation from the unchunked model, on hidden states, logits, or both.

Both losses are added to the language model's loss and cover the same tokens: those before a token with a label. The
teacher has the current weights in their original order, without low-rank adapters; if only low-rank adapters are
trained, the teacher is the unchanged model. The published losses cover all tokens of a batch, and their teacher
includes the low-rank adapters.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor


@contextmanager
def disable_adapters(model) -> Iterator[None]:
    """Turn off PEFT's low-rank adapters without changing their requires_grad."""
    modules = [m for m in model.modules() if getattr(m, "_disable_adapters", None) is False]
    for module in modules:
        module._disable_adapters = True
    try:
        yield
    finally:
        for module in modules:
            module._disable_adapters = False


def compute_hidden_loss(teacher: list[Tensor], student: list[Tensor], rows: Tensor) -> Tensor:
    """Compute (1 - cosine)^2, averaged over the states and summed over the given rows of tokens."""
    states = [
        torch.stack([state.flatten(0, 1)[rows].float() for state in model])
        for model in (student, teacher)
    ]
    return (1 - F.cosine_similarity(*states, dim=-1)).square().sum(-1).mean()


def compute_logits_loss(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Compute KL(teacher || student) at a temperature, times the temperature squared, summed over rows."""
    logprobs = (
        F.log_softmax(logits.float() / temperature, dim=-1) for logits in (student, teacher)
    )
    return F.kl_div(*logprobs, log_target=True, reduction="sum") * temperature**2
