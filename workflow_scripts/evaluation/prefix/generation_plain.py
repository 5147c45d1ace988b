"""Generation without a cache: everything is read again for each token."""

from collections.abc import Callable, Container, Sequence
from functools import partial

import torch

from workflow_scripts.evaluation.prefix.answer import (
    Answer,
    GenerationRequest,
    score_rivals,
    take_next,
)
from workflow_scripts.evaluation.prefix.choosing import GenerationRules
from workflow_scripts.evaluation.prefix.scores import Score


def generate_plain(
    model,
    requests: Sequence[GenerationRequest],
    rules: GenerationRules,
    rows: Callable[[int], int],
    known: Container[int],
    on_generated: Callable[[int, list[int]], None],
    on_rivals: Callable[[int, list[Score]], None],
) -> None:
    answers = {
        at: Answer(
            request, rules, on_done=partial(on_generated, at), on_rivals=partial(on_rivals, at)
        )
        for at, request in enumerate(requests)
        if at not in known
    }
    active = list(answers)
    while active:
        sequences = {at: [*requests[at].context, *answers[at].tokens] for at in active}
        active.sort(key=lambda at: -len(sequences[at]))
        rest = active
        while rest:
            longest = len(sequences[rest[0]])
            batch, rest = rest[: rows(longest)], rest[rows(longest) :]
            ids = torch.zeros(len(batch), longest, dtype=torch.long)
            last = torch.zeros(len(batch), longest, dtype=torch.bool)
            for row, at in enumerate(batch):
                ids[row, : len(sequences[at])] = torch.tensor(sequences[at])
                last[row, len(sequences[at]) - 1] = True
            logits = model.plain(ids, last)
            beginning = [row for row, at in enumerate(batch) if not answers[at].tokens]
            score_rivals([answers[batch[row]] for row in beginning], logits, beginning)
            take_next([answers[at] for at in batch], logits, logits.argmax(-1).tolist())
        active = [at for at in active if not answers[at].done]
