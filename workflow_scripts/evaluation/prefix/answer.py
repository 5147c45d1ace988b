"""A generation request, and its answer during generation."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .sampling import GenerationRules, StopStrings


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    max_new_tokens: int
    stop: StopStrings | None = None
    seed: int = 0  # for sampling; each request has its own

    def describe(self, options: dict[str, Any]) -> tuple:
        """Return everything that the answer depends on besides the model, as JSON values for a cache key."""
        stop_strings = self.stop and self.stop.strings
        return "generation", options, self.context, self.max_new_tokens, self.seed, stop_strings


class Answer:
    """The tokens generated so far for a request; once finished, they are added to `answers`, unless it has them.

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
        self.is_done = False
        self.tokens: list[int] = []
        self._end_tokens = rules.end_tokens
        self._index, self._answers = index, answers
        self._processors = rules.build_processors(request.context)
        self._generator: torch.Generator | None = None
        if rules.is_sampling:
            self._generator = torch.Generator().manual_seed(request.seed)

    @property
    def all_tokens(self) -> list[int]:
        return [*self.request.context, *self.tokens]

    @property
    def length(self) -> int:
        return len(self.request.context) + len(self.tokens)

    def add_next(self, logits: torch.Tensor, greedy_token: int) -> None:
        """Add `greedy_token`, the argmax of the logits, unless the rules choose another token."""
        is_greedy = self._generator is None and not len(self._processors)
        self.tokens.append(greedy_token if is_greedy else self._choose(logits))
        stop = self.request.stop
        self.is_done = (
            self.tokens[-1] in self._end_tokens
            or len(self.tokens) >= self.request.max_new_tokens
            or (stop is not None and stop(self.tokens))
        )
        if self.is_done and self._index not in self._answers:
            self._answers[self._index] = self.tokens

    def _choose(self, logits: torch.Tensor) -> int:
        ids = torch.tensor([self.all_tokens], device=logits.device)
        scores = self._processors(ids, logits.to(copy=True, dtype=torch.float32)[None])
        if self._generator is None:
            return int(scores.argmax(-1))
        return int(torch.multinomial(scores[0].softmax(-1).cpu(), 1, generator=self._generator))
