"""What a chunked model learns from itself run unchunked: hidden states, logits, or both.

Both losses stand beside the language model's own and count the same tokens: those whose successor
has a label. The teacher is the same weights in their original order, as they are at that step.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def hidden_loss(teacher: list[Tensor], student: list[Tensor], counts: Tensor) -> Tensor:
    """(1 - cosine)^2, the mean over the states behind the chunks, for the tokens that count."""
    states = [
        (1 - F.cosine_similarity(ours.float(), theirs.float(), dim=-1))[counts].square().sum()
        for theirs, ours in zip(teacher, student, strict=True)
    ]
    return torch.stack(states).mean()


def logits_loss(teacher: Tensor, student: Tensor, counts: Tensor, temperature: float) -> Tensor:
    """KL(teacher || student) at a temperature, times its square, for the tokens that count."""
    theirs, ours = (
        F.log_softmax(logits[counts].float() / temperature, dim=-1) for logits in (teacher, student)
    )
    return F.kl_div(ours, theirs, log_target=True, reduction="sum") * temperature**2


def counted(labels: Tensor) -> Tensor:
    """Which positions predict a label: those before one, as in the language model's loss."""
    counts = torch.zeros_like(labels, dtype=torch.bool)
    counts[:, :-1] = labels[:, 1:] != -100
    return counts
