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
    """Without the low-rank adapters that PEFT has put beside the weights, and without touching their gradients."""
    beside = [one for one in model.modules() if getattr(one, "_disable_adapters", None) is False]
    for one in beside:
        one._disable_adapters = True
    try:
        yield
    finally:
        for one in beside:
            one._disable_adapters = False


def hidden_loss(teacher: list[Tensor], student: list[Tensor], places: Tensor) -> Tensor:
    """(1 - cosine)^2, the mean over the states, summed over the tokens that count."""
    states = [
        1 - F.cosine_similarity(at(places, ours).float(), at(places, theirs).float(), dim=-1)
        for theirs, ours in zip(teacher, student, strict=True)
    ]
    return torch.stack(states).square().sum(-1).mean()


def logits_loss(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """KL(teacher || student) at a temperature, times its square, summed over rows of logits."""
    theirs, ours = (
        F.log_softmax(logits.float() / temperature, dim=-1) for logits in (teacher, student)
    )
    return F.kl_div(ours, theirs, log_target=True, reduction="sum") * temperature**2


def language_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """As transformers has it, summed over rows of logits."""
    return F.cross_entropy(logits.float(), targets, reduction="sum")


def places_of(labels: Tensor) -> Tensor:
    """Which positions, counted through all rows, predict a label: those before one, as in the language model's loss."""
    counts = torch.zeros_like(labels, dtype=torch.bool)
    counts[:, :-1] = labels[:, 1:] != -100
    return counts.flatten().nonzero()[:, 0]


def next_labels(labels: Tensor) -> Tensor:
    """Return what each position predicts, counted through all rows; the last of a row predicts nothing."""
    return F.pad(labels[:, 1:], (0, 1), value=-100).flatten()


def at(places: Tensor, states: Tensor) -> Tensor:
    return states.flatten(0, 1)[places]
