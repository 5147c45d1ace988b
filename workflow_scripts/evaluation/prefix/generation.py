"""Generation: what prompts share is read once, then one packed row holds everyone's next token."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.choosing import Chooser, GenerationRules, StopTest
from workflow_scripts.evaluation.prefix.packed import PackedRun, with_ancestors
from workflow_scripts.evaluation.prefix.trie import Trie


@dataclass(frozen=True)
class GenerationRequest:
    context: Sequence[int]
    new_tokens: int  # at most
    stop: StopTest | None = None
    seed: int = 0  # of this request alone; used where tokens are drawn


class _Answer:
    """One request while it is being answered."""

    def __init__(
        self,
        request: GenerationRequest,
        rules: GenerationRules,
        on_done: Callable[[list[int]], None] | None,
    ):
        self.request, self.done = request, False
        self.tokens: list[int] = []
        self._on_done = on_done
        self.chooser: Chooser = rules.chooser(request.context, request.seed)
        self._end_tokens = rules.end_tokens

    def take(self, logits: torch.Tensor, best: int) -> None:
        token = best if self.chooser.is_argmax else self.chooser.choose(logits)
        self.tokens.append(token)
        request = self.request
        self.done = (
            token in self._end_tokens
            or len(self.tokens) >= request.new_tokens
            or (request.stop is not None and request.stop(self.tokens))
        )
        if self.done and self._on_done:
            self._on_done(self.tokens)


def generate_packed(
    model,
    trie: Trie,
    places: np.ndarray,
    requests: Sequence[GenerationRequest],
    rules: GenerationRules,
    plan: "Plan",
    known: Container[int],
    on_generated: Callable[[int, list[int]], None],
) -> int:
    """Answer all requests; `places` says which sequence of the trie each of them continues.

    Returns the tokens that reading the prompts takes. A group is answered as a whole or not at all,
    so that what is known already does not change the bytes of the rest.
    """
    by_place: list[list[int]] = [[] for _ in trie.sequences]
    for request, place in enumerate(places):
        by_place[place].append(request)
    run = PackedRun(model, trie, plan.capacity)
    starts = [int(run.order.starts[first]) for first, _ in plan.groups]
    chosen_of = [
        [request for mine in by_place[first:last] for request in mine]
        for first, last in plan.groups
    ]
    unknown = np.array([any(at not in known for at in chosen) for chosen in chosen_of])
    groups = np.flatnonzero(with_ancestors(run.order, starts, unknown))
    for group in groups:
        run.forget_before(starts[group])
        first, last = plan.groups[group]
        chosen = chosen_of[group]
        answers = {
            at: _Answer(requests[at], rules, None if at in known else partial(on_generated, at))
            for at in chosen
        }
        entries = _read(run, (first, last), plan.block, by_place, answers)
        unfinished = [at for at in chosen if unknown[group] and not answers[at].done]
        for start in range(0, len(unfinished), plan.at_once):
            wave = unfinished[start : start + plan.at_once]
            _continue(run, [answers[at] for at in wave], [entries[places[at]] for at in wave])
    return len(run.order)


def _read(run: PackedRun, group: tuple[int, int], block: int, by_place, answers) -> dict:
    """Read a group's prompts and give each answer its first token.

    Returns for each prompt the entries of the cache that it is made of.
    """
    starts = run.order.starts
    first, last = group
    ends = starts[first + 1 : last + 1] - 1  # the last token of each prompt
    entries = {}
    for start in range(int(starts[first]), int(starts[last]), block):
        end = min(start + block, int(starts[last]))
        logits, ended = run.run(start, end, ends[(ends >= start) & (ends < end)])
        for row, (place, of_prompt) in zip(logits, ended.items(), strict=True):
            mine = [answers[at] for at in by_place[place]]
            _take_all(mine, row.expand(len(mine), -1))
            entries[place] = of_prompt
    return entries


def _continue(run: PackedRun, answers: list[_Answer], entries: list[np.ndarray]) -> None:
    """Let all answers take one token a call until none is left, then forget their tokens."""
    seen = np.zeros((len(answers), run.cache.capacity), dtype=bool)
    for row, of_prompt in enumerate(entries):
        seen[row, of_prompt] = True
    active = np.arange(len(answers))
    while len(active):
        end = run.cache.used + len(active)
        seen[active, np.arange(end - len(active), end)] = True
        tokens = np.array([answers[row].tokens[-1] for row in active])
        depths = np.array([len(entries[row]) + len(answers[row].tokens) - 1 for row in active])
        _take_all([answers[row] for row in active], run.step(tokens, depths, seen[active, :end]))
        active = np.array([row for row in active if not answers[row].done], dtype=np.int64)
    run.rewind()


def _take_all(answers: list[_Answer], logits: torch.Tensor) -> None:
    for answer, row, best in zip(answers, logits, logits.argmax(-1).tolist(), strict=True):
        answer.take(row, best)


@dataclass(frozen=True)
class Plan:
    """Which neighbouring prompts are in the cache together: as many as the memory holds."""

    groups: list[tuple[int, int]]  # places in the trie, from and to
    at_once: int  # answers that take a token in the same call
    block: int  # tokens of one call while prompts are read
    capacity: int  # entries of the cache

    @classmethod
    def of(cls, trie: Trie, new_tokens: int, budget: Budget, preferred: int, at_once: int):
        longest = max(len(prompt) for prompt in trie.sequences)
        block = budget.block(longest + new_tokens, preferred)
        at_once = min(at_once, budget.logit_rows)
        most = budget.entries(max(block, at_once), at_once)
        while at_once > 1 and longest + at_once * new_tokens > most:
            at_once //= 2
        groups, capacity = [], 0
        first, size = 0, 0
        for place, prompt in enumerate(trie.sequences):
            new = len(prompt) - (int(trie.shared[place]) if place > first else 0)
            if place > first and (
                place - first >= at_once or size + new + at_once * new_tokens > most
            ):
                groups.append((first, place))
                first, size, new = place, 0, len(prompt)
            size += new
            capacity = max(capacity, size)
        groups.append((first, len(trie.sequences)))
        return cls(groups, at_once, block, capacity + at_once * new_tokens)


def generate_plain(
    model,
    requests: Sequence[GenerationRequest],
    rules: GenerationRules,
    rows: Callable[[int], int],
    known: Container[int],
    on_generated: Callable[[int, list[int]], None],
) -> None:
    """Without a cache: read everything again for each token."""
    answers = [
        _Answer(request, rules, partial(on_generated, at)) for at, request in enumerate(requests)
    ]
    active = [at for at in range(len(requests)) if at not in known]
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
            _take_all([answers[at] for at in batch], model.plain(ids, last))
        active = [at for at in active if not answers[at].done]
