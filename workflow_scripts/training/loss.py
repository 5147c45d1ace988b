"""The language-model loss, for the positions that count and no others.

Logits of positions that do not count are never computed, and where the others are many they are computed in
pieces, each with its loss and its gradient, and never lie in memory together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from workflow_scripts.chunked.pieces import summed_in_pieces
from workflow_scripts.planning.memory import positions_at_once

IGNORED = -100
_ALIKE = {True: 1e-5, False: 2e-2}


@dataclass(frozen=True)
class Counted:
    """The positions of a batch whose next token counts, counted through all rows, and these tokens."""

    before: Tensor
    targets: Tensor

    @classmethod
    def of(cls, labels: Tensor) -> "Counted":
        """Of rows of tokens, those that do not count replaced by IGNORED; a row's first never counts."""
        before = (labels[:, 1:] != IGNORED).nonzero()
        return cls(before[:, 0] * labels.shape[1] + before[:, 1], labels[:, 1:][tuple(before.T)])


@dataclass(frozen=True)
class Head:
    """The end of a model, from hidden states to logits, to be run in pieces."""

    model: Any  # without adapters around it

    @property
    def body(self):
        return self.model.base_model

    def __call__(self, hidden: Tensor) -> Tensor:
        """As the models of transformers do: some scale their logits, some cap them."""
        config = self.model.config.get_text_config()
        logits = self.model.get_output_embeddings()(hidden)
        if scale := getattr(config, "logit_scale", None):
            logits = logits * scale
        if divisor := getattr(config, "logits_scaling", None):
            logits = logits / divisor
        if cap := getattr(config, "final_logit_softcapping", None):
            logits = cap * torch.tanh(logits / cap)
        return logits

    @property
    def at_once(self) -> int:
        """Positions whose logits lie in memory together."""
        return positions_at_once(self.model.config.get_text_config().vocab_size)

    @property
    def parameters(self) -> list[Tensor]:
        """Those that are trained."""
        output = self.model.get_output_embeddings()
        return [parameter for parameter in output.parameters() if parameter.requires_grad]


def is_distilled(model) -> bool:
    """Whether it learns from itself: a chunked model that adds its own losses, in its forward."""
    return bool(getattr(model.config, "distilled", False))


def find_head(model) -> Head | None:
    """Tried out on this model; None where its logits are made otherwise."""
    head = Head(model.get_base_model() if hasattr(model, "get_base_model") else model)
    if head.body is head.model or head.model.get_output_embeddings() is None:
        return None
    tokens = torch.arange(7, 15, device=head.model.device)[None]
    tokens = tokens % head.model.config.get_text_config().vocab_size
    was_training = model.training
    model.eval()
    with torch.no_grad(), _hidden_states(head) as hidden:
        logits = model(input_ids=tokens, use_cache=False).logits
        pieces = head(hidden[0])
    model.train(was_training)
    difference = float((pieces - logits).abs().max() / logits.abs().max())
    return head if difference <= _ALIKE[logits.dtype == torch.float32] else None


@contextmanager
def _hidden_states(head: Head) -> Iterator[list[Tensor]]:
    """What the next run of the model hands to its end; also where that run is of a wrapper around it."""
    found: list[Tensor] = []
    handle = head.body.register_forward_hook(
        lambda _module, _inputs, outputs: found.append(outputs.last_hidden_state)
    )
    try:
        yield found
    finally:
        handle.remove()


def summed_loss(
    model, inputs: dict[str, Tensor], counted: Counted, head: Head | None = None
) -> Tensor:
    """Return the sum over all counted tokens of minus their log-probability, in float32 at least."""
    before, targets = counted.before, counted.targets
    if head is None:
        if len(inputs["input_ids"]) == 1:
            logits = model(**inputs, use_cache=False, logits_to_keep=before).logits[0]
        else:
            logits = model(**inputs, use_cache=False).logits.flatten(0, 1)[before]
        return _cross_entropy(logits, targets)
    with _hidden_states(head) as outputs:
        model(**inputs, use_cache=False, logits_to_keep=before[:0])  # none of them
    hidden = outputs[0].flatten(0, 1)[before]
    if len(hidden) <= head.at_once:
        return _cross_entropy(head(hidden), targets)
    if torch.is_grad_enabled():

        def losses_of(some: Tensor, wanted: Tensor) -> list[Tensor]:
            return [_cross_entropy(head(some), wanted)]

        loss, _ = summed_in_pieces(losses_of, hidden, [targets], head.at_once, head.parameters)
        return loss
    pieces = zip(hidden.split(head.at_once), targets.split(head.at_once), strict=True)
    return torch.stack([_cross_entropy(head(some), wanted) for some, wanted in pieces]).sum()


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    exact = torch.promote_types(logits.dtype, torch.float32)
    return F.cross_entropy(logits.to(exact), targets, reduction="sum")
