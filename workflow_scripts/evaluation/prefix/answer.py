"""A generation request, and its answer during generation."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .sampling import GenerationRules, StopStrings


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopStrings | None = None
    seed: int = 0  # of this request alone; used for sampling

    def describe(self, options: dict[str, Any]) -> tuple:
        """Return everything that the answer depends on besides the model, as JSON values."""
        strings = self.stop and self.stop.strings
        return "generation", options, self.context, self.new_tokens, self.seed, strings


class Answer:
    """The tokens generated so far for a request; the finished answer is added to `answers`, unless it is there.

    Tokens are chosen per request, with a separate random generator, so they do not depend on the rest of the batch.
    """

    def __init__(
        self,
        index: int,
        request: GenerationRequest,
        rules: GenerationRules,
        answers: MutableMapping[int, list[int]],
    ):
        self.request = request
        self.done = False
        self.tokens: list[int] = []
        self._end_tokens = rules.end_tokens
        self._index, self._answers = index, answers
        self._processors = rules.build_processors(request.context)
        self._generator: torch.Generator | None = None
        if rules.samples:
            self._generator = torch.Generator().manual_seed(request.seed)

    @property
    def is_argmax(self) -> bool:
        """Return whether decoding is a plain argmax, so that the logits need no processing."""
        return not len(self._processors) and self._generator is None

    @property
    def all_tokens(self) -> list[int]:
        return [*self.request.context, *self.tokens]

    @property
    def length(self) -> int:
        return len(self.request.context) + len(self.tokens)

    def add_next(self, logits: torch.Tensor, likeliest: int) -> None:
        """Add the likeliest token, unless the rules choose another."""
        self.tokens.append(likeliest if self.is_argmax else self._choose(logits))
        stop = self.request.stop
        self.done = (
            self.tokens[-1] in self._end_tokens
            or len(self.tokens) >= self.request.new_tokens
            or (stop is not None and stop(self.tokens))
        )
        if self.done and self._index not in self._answers:
            self._answers[self._index] = self.tokens

    def _choose(self, logits: torch.Tensor) -> int:
        ids = torch.tensor([self.all_tokens], device=logits.device)
        scores = self._processors(ids, logits.to(copy=True, dtype=torch.float32)[None])
        if self._generator is None:
            return int(scores.argmax(-1))
        return int(torch.multinomial(scores[0].softmax(-1).cpu(), 1, generator=self._generator))
