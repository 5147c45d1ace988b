"""One request to continue a text, and its answer while it grows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from workflow_scripts.evaluation.prefix.choosing import Chooser, GenerationRules, StopTest


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopTest | None = None
    seed: int = 0  # of this request alone; used where tokens are drawn


class Answer:
    """What one request has got so far; `known` is the whole answer where an earlier run gave it."""

    def __init__(
        self,
        request: GenerationRequest,
        rules: GenerationRules,
        *,
        known: list[int] | None = None,
        on_done: Callable[[list[int]], None] | None = None,
    ):
        self.request, self.known, self.done = request, known, False
        self.tokens: list[int] = []
        self._on_done = on_done
        self._chooser: Chooser = rules.chooser(request.context, request.seed)
        self._end_tokens = rules.end_tokens

    @property
    def is_argmax(self) -> bool:
        """Whether the likeliest token is taken, so that the logits need not be looked at."""
        return self._chooser.is_argmax

    def take(self, best: int, logits: torch.Tensor | None) -> None:
        """The next token: the likeliest, unless the rules choose another; nothing once it is done."""
        if self.done:
            return
        if self.known is not None:
            self.tokens.append(self.known[len(self.tokens)])
            self.done = len(self.tokens) == len(self.known)
            return
        token = best if self.is_argmax or logits is None else self._chooser.choose(logits)
        self.tokens.append(token)
        self.done = (
            token in self._end_tokens
            or len(self.tokens) >= self.request.new_tokens
            or (self.request.stop is not None and self.request.stop(self.tokens))
        )
        if self.done and self._on_done:
            self._on_done(self.tokens)
