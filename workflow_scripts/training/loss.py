"""The language-model loss, for the positions that count and no others.

Logits are the largest thing in memory that a small model makes (tokens times vocabulary), so where
only a completion counts, those of its prompt are never computed.
"""

import torch.nn.functional as F
from torch import Tensor

from workflow_scripts.training.packing import IGNORED


def summed_loss(model, inputs: dict[str, Tensor], labels: Tensor) -> Tensor:
    """The sum over all counted tokens of minus their log-probability, in float32."""
    targets = labels[:, 1:]
    counts = targets != IGNORED
    if len(labels) == 1:
        before = counts[0].nonzero().squeeze(1)
        logits = model(**inputs, use_cache=False, logits_to_keep=before).logits[0]
        targets = targets[0, before]
    else:
        logits = model(**inputs, use_cache=False).logits[:, :-1][counts]
        targets = targets[counts]
    return F.cross_entropy(logits.float(), targets, reduction="sum")
