"""One request to continue a text, and its answer while it grows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from workflow_scripts.evaluation.prefix.choosing import Chooser, GenerationRules, StopTest, choose
from workflow_scripts.evaluation.prefix.scores import Score, scores_behind


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopTest | None = None
    seed: int = 0  # of this request alone; used where tokens are drawn
    rivals: Sequence[int] = ()  # tokens whose scores right behind the context are wanted too


class Answer:
    """What one request has got so far; `known` is the whole answer where an earlier run gave it."""

    def __init__(
        self,
        request: GenerationRequest,
        rules: GenerationRules,
        *,
        known: list[int] | None = None,
        on_done: Callable[[list[int]], None],
        on_rivals: Callable[[list[Score]], None],
    ):
        self.request, self.known, self.done = request, known, False
        self.tokens: list[int] = []
        self._on_done, self.on_rivals = on_done, on_rivals
        self.chooser: Chooser = rules.chooser(request.context, request.seed)
        self._end_tokens = rules.end_tokens

    def take(self, token: int) -> None:
        """The next token, unless it is known; nothing once it is done."""
        if self.done:
            return
        if self.known is not None:
            self.tokens.append(self.known[len(self.tokens)])
            self.done = len(self.tokens) == len(self.known)
            return
        self.tokens.append(token)
        self.done = (
            token in self._end_tokens
            or len(self.tokens) >= self.request.new_tokens
            or (self.request.stop is not None and self.request.stop(self.tokens))
        )
        if self.done:
            self._on_done(self.tokens)


def take_next(
    answers: Sequence[Answer],
    logits: torch.Tensor | Sequence[torch.Tensor],
    likeliest: Sequence[int] | None,
) -> None:
    """Each answer's next token, by its row of the logits: the likeliest, unless the rules choose another.

    Where it is not known yet which ones are the likeliest, all are left to the rules.
    """
    undecided = [
        at
        for at, answer in enumerate(answers)
        if not (answer.done or answer.known is not None)
        and (likeliest is None or not answer.chooser.is_argmax)
    ]
    chosen = choose([answers[at].chooser for at in undecided], [logits[at] for at in undecided])
    tokens = [*likeliest] if likeliest is not None else [-1] * len(answers)
    for at, token in zip(undecided, chosen, strict=True):
        tokens[at] = token
    for answer, token in zip(answers, tokens, strict=True):
        answer.take(token)


def score_rivals(answers: list[Answer], logits: torch.Tensor, rows: list[int]) -> None:
    """Tell what the logits right behind the contexts say of the rivals, of those who ask for some."""
    some = [
        (answer, row)
        for answer, row in zip(answers, rows, strict=True)
        if answer.request.rivals and answer.known is None
    ]
    if not some:
        return
    wanted = logits[[row for _, row in some]]
    found = scores_behind(wanted, [answer.request.rivals for answer, _ in some])
    for (answer, _), scores in zip(some, found, strict=True):
        answer.on_rivals(scores)
