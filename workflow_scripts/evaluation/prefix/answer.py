"""A request to continue a text, and its answer while it grows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from .sampling import GenerationRules, StopTest


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopTest | None = None
    seed: int = 0  # of this request alone; used where tokens are sampled


class Answer:
    """The tokens that a request has got so far; `on_done` is called with all of them."""

    def __init__(
        self,
        request: GenerationRequest,
        rules: GenerationRules,
        on_done: Callable[[list[int]], None],
    ):
        self.request = request
        self.done = False
        self.tokens: list[int] = []
        self.sampler = rules.build_sampler(request.context, request.seed)
        self._end_tokens = rules.end_tokens
        self._on_done = on_done

    @property
    def missing(self) -> int:
        return self.request.new_tokens - len(self.tokens)

    @property
    def length(self) -> int:
        return len(self.request.context) + len(self.tokens)

    def add_next(self, logits: torch.Tensor, likeliest: int) -> None:
        """Add the likeliest token, unless the rules choose another or the answer has ended."""
        if self.done:
            return
        self.tokens.append(likeliest if self.sampler.is_argmax else self.sampler.choose(logits))
        stop = self.request.stop
        self.done = (
            self.tokens[-1] in self._end_tokens
            or self.missing <= 0
            or (stop is not None and stop(self.tokens))
        )
        if self.done:
            self._on_done(self.tokens)
