"""The language-model loss, for the positions that count and no others."""

import torch
import torch.nn.functional as F
from torch import Tensor

IGNORED = -100


def is_distilled(model) -> bool:
    """Return whether a chunked model learns from itself, and adds its own losses in its forward."""
    keys = ("distillation", "logits_distillation")
    return any(getattr(model.config, key, False) for key in keys)


def summed_loss(model, inputs: dict[str, Tensor], labels: Tensor) -> tuple[Tensor, int]:
    """Return minus the log-probability of all counted tokens, in float32 at least, and how many they are.

    Logits of positions that do not count are not computed where there is one row.
    """
    counted = labels[:, 1:] != IGNORED
    targets = labels[:, 1:][counted]
    if len(labels) == 1:
        positions = counted[0].nonzero()[:, 0]
        logits = model(**inputs, use_cache=False, logits_to_keep=positions).logits[0]
    else:
        logits = model(**inputs, use_cache=False).logits[:, :-1][counted]
    exact = torch.promote_types(logits.dtype, torch.float32)
    return F.cross_entropy(logits.to(exact), targets, reduction="sum"), len(targets)
