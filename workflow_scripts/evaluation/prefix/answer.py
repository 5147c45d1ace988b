"""One request to continue a text, and its answer while it grows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from workflow_scripts.evaluation.prefix.choosing import Chooser, GenerationRules, StopTest, choose


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopTest | None = None
    seed: int = 0  # of this request alone; used where tokens are drawn


class Answer:
    """The tokens that one request has got so far; `on_done` is called with all of them."""

    def __init__(
        self,
        request: GenerationRequest,
        rules: GenerationRules,
        on_done: Callable[[list[int]], None],
    ):
        self.request, self.done = request, False
        self.own = 0  # entries of its prompt in a row of its own
        self.tokens: list[int] = []
        self.chooser: Chooser = rules.chooser(request.context, request.seed)
        self._end_tokens, self._on_done = rules.end_tokens, on_done

    @property
    def missing(self) -> int:
        return self.request.new_tokens - len(self.tokens)

    def take(self, token: int) -> None:
        """Add the next token, unless the answer has ended."""
        if self.done:
            return
        self.tokens.append(token)
        stop = self.request.stop
        self.done = (
            token in self._end_tokens
            or self.missing <= 0
            or (stop is not None and stop(self.tokens))
        )
        if self.done:
            self._on_done(self.tokens)


def take_next(answers: Sequence[Answer], logits: torch.Tensor, likeliest: Sequence[int]) -> None:
    """Give each answer its next token: the likeliest in its row, unless the rules choose another."""
    if answers and answers[0].chooser.is_argmax:
        for answer, token in zip(answers, likeliest, strict=True):
            answer.take(token)
        return
    growing = [row for row, answer in enumerate(answers) if not answer.done]
    tokens = choose([answers[row].chooser for row in growing], [logits[row] for row in growing])
    for row, token in zip(growing, tokens, strict=True):
        answers[row].take(token)
