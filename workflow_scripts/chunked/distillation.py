"""Compute the losses of self-distillation from the model run unchunked: of hidden states, logits, or both.

Both losses are added to the language model's own and count the same tokens: those whose successor has a label. The
teacher is the same weights in their original order, as they are at that step: where low-rank
adapters alone are trained, the unchanged model itself. The published losses count all tokens of a batch, and their
teacher has the low-rank adapters too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor


@contextmanager
def disable_adapters(model) -> Iterator[None]:
    """Turn off PEFT's low-rank adapters, without touching their gradients."""
    modules = [m for m in model.modules() if getattr(m, "_disable_adapters", None) is False]
    for module in modules:
        module._disable_adapters = True
    try:
        yield
    finally:
        for module in modules:
            module._disable_adapters = False


def compute_hidden_loss(teacher: list[Tensor], student: list[Tensor], rows: Tensor) -> Tensor:
    """Compute (1 - cosine)^2, the mean over the states, summed over the rows of tokens that count."""
    states = [
        torch.stack([state.flatten(0, 1)[rows].float() for state in model])
        for model in (student, teacher)
    ]
    return (1 - F.cosine_similarity(*states, dim=-1)).square().sum(-1).mean()


def compute_logits_loss(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Compute KL(teacher || student) at a temperature, times its square, summed over rows of logits."""
    logs = (F.log_softmax(logits.float() / temperature, dim=-1) for logits in (student, teacher))
    return F.kl_div(*logs, log_target=True, reduction="sum") * temperature**2
