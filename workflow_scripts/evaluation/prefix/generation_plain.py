"""Generation without a cache: everything is read again for each token."""

from collections.abc import Callable, Container, Sequence
from functools import partial

import torch

from workflow_scripts.evaluation.prefix.answer import Answer, GenerationRequest
from workflow_scripts.evaluation.prefix.choosing import GenerationRules


def generate_plain(
    model,
    requests: Sequence[GenerationRequest],
    rules: GenerationRules,
    rows: Callable[[int], int],
    known: Container[int],
    on_generated: Callable[[int, list[int]], None],
) -> None:
    answers = {
        at: Answer(request, rules, on_done=partial(on_generated, at))
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
            for at, row, likeliest in zip(batch, logits, logits.argmax(-1).tolist(), strict=True):
                answers[at].take(likeliest, row)
        active = [at for at in active if not answers[at].done]
