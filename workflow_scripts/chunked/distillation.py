"""What a chunked model learns from itself run unchunked: hidden states, logits, or both.

Both losses stand beside the language model's own and count the same tokens: those whose successor
has a label. The teacher is the same weights in their original order, as they are at that step: where low-rank
adapters alone are trained, the unchanged model itself. The published losses count all tokens of a batch, and their
teacher has the low-rank adapters too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor


@contextmanager
def adapters_off(model) -> Iterator[None]:
    """Run without the low-rank adapters that PEFT has put beside the weights, and without touching their gradients."""
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
    losses = []
    for states in zip(student, teacher, strict=True):
        ours, theirs = (state.flatten(0, 1)[rows].float() for state in states)
        losses.append(1 - F.cosine_similarity(ours, theirs, dim=-1))
    return torch.stack(losses).square().sum(-1).mean()


def compute_logits_loss(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Compute KL(teacher || student) at a temperature, times its square, summed over rows of logits."""
    ours, theirs = (
        F.log_softmax(logits.float() / temperature, dim=-1) for logits in (student, teacher)
    )
    return F.kl_div(ours, theirs, log_target=True, reduction="sum") * temperature**2
