"""Generation in batches of prompts that start alike: what they share is read and kept once.

Which requests make a batch follows from all of them. A batch whose answers are known is left out, and any
other is run as a whole, so that a run that was interrupted ends in the same bytes.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.answer import Answer, GenerationRequest, take_next
from workflow_scripts.evaluation.prefix.answer_rows import AnswerRows, RowShape, get_row_shape
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.model import get_attention, text_config
from workflow_scripts.evaluation.prefix.packed import PackedRun
from workflow_scripts.evaluation.prefix.score_packed import cut
from workflow_scripts.evaluation.prefix.trie import build_trie

# A shorter common start is cheaper to keep with each answer.
_MIN_START = 32
# Blocks of prompts are not made smaller than this for the sake of answers.
_MIN_BLOCK = 256
# Copies of a step's attention scores, in float32, that live at once.
_SCORE_COPIES = 6

Begin = Callable[[int], Answer]


@dataclass(frozen=True)
class AtOnce:
    """What a device does at once."""

    tokens: int  # of one call while prompts are read
    answers: int  # that take a token in the same call
    steps: int  # before anybody looks at the answers
    static: bool  # shapes rounded up, so that few occur


class PackedGeneration:
    """Generation of a CausalModel that runs packed."""

    def __init__(
        self, model, requests: Sequence[GenerationRequest], budget: Budget, at_once: AtOnce
    ):
        self._model, self._requests = model, requests
        self._budget, self._at_once = budget, at_once
        self._trie, self._places = build_trie([request.context for request in requests])
        longest = max(map(len, self._trie.sequences))
        new = max(request.new_tokens for request in requests)
        self._block = budget.block(2 * longest + new, at_once.tokens)
        while self._block > _MIN_BLOCK and self._reading_bytes(longest) > budget.bytes // 2:
            self._block //= 2
        self._room = budget.bytes - self._reading_bytes(longest)
        self._rows: AnswerRows | None = None

    @property
    def trie_tokens(self) -> int:
        return self._trie.tokens

    def run(self, begin: Begin, known: Container[int]) -> None:
        """Answer all requests that are not known; `begin` starts an answer."""
        for batch, shape in self._batches():
            if not all(request in known for request in batch):
                self._grow(self._read(batch, shape, begin))

    def _reading_bytes(self, longest: int) -> int:
        rows = min(self._block, self._budget.logit_rows)
        return self._budget.packed_bytes(self._block, longest + self._block, rows)

    def _batches(self) -> list[tuple[list[int], RowShape]]:
        """Requests whose prompts are neighbours, as many as the memory allows.

        Once a quarter of the rows is taken, a prompt that would halve the common start begins another batch.
        """
        most = min(self._at_once.answers, self._budget.logit_rows)
        batches: list[tuple[list[int], RowShape]] = []
        batch: list[int] = []
        longest = new = common = before = 0
        shape = RowShape(0, 0, 0)
        for request in np.argsort(self._places, kind="stable").tolist():
            place = int(self._places[request])
            length = len(self._trie.sequences[place])
            shared = (
                int(self._trie.shared[before + 1 : place + 1].min()) if before < place else length
            )
            before = place
            if batch:
                narrowed = min(common, shared)
                wider = self._shape(
                    len(batch) + 1,
                    max(longest, length),
                    max(new, self._requests[request].new_tokens),
                    narrowed,
                )
                leaves = 4 * len(batch) >= most and 2 * narrowed < common
                if len(batch) < most and not leaves and self._row_bytes(wider) <= self._room:
                    batch.append(request)
                    longest, common, shape = max(longest, length), narrowed, wider
                    new = max(new, self._requests[request].new_tokens)
                    continue
                batches.append((batch, shape))
            batch, longest, common = [request], length, length
            new = self._requests[request].new_tokens
            shape = self._shape(1, longest, new, common)
        return [*batches, (batch, shape)]

    def _shape(self, rows: int, longest: int, new: int, common: int) -> RowShape:
        shares = self._model.by_branch and rows > 1 and common >= _MIN_START
        start = common if shares else 0
        return get_row_shape(rows, longest - start + new, start, self._at_once.static)

    def _row_bytes(self, shape: RowShape) -> int:
        heads = getattr(text_config(self._model.model), "num_attention_heads", None) or 1
        eager = get_attention(self._model.model) == "eager"  # repeats keys and values for all heads
        entry = self._budget.cache_entry if eager else self._model.cache_bytes
        scores = heads * 4 * _SCORE_COPIES * shape.rows * (shape.own + shape.start)
        return (shape.rows * shape.own + shape.start) * entry + scores

    def _read(self, batch: list[int], shape: RowShape, begin: Begin) -> list[Answer]:
        """Read the prompts of a batch; returns the answers that go on, by their rows."""
        contexts = [self._requests[request].context for request in batch]
        trie, places = build_trie(contexts)
        common = min(trie.shared[1:].tolist(), default=len(trie.sequences[0]))
        start = common if shape.start else 0
        run = PackedRun(self._model, trie, max(map(len, trie.sequences)) + self._block)
        ends = run.order.starts[1:] - 1  # the last token of each prompt
        growing: list[Answer] = []
        filled_start = False
        for first, last in cut(run.order, self._block, ends, self._budget.logit_rows):
            run.forget_before(first)
            ending = range(*np.searchsorted(ends, [first, last]))
            logits = run.run(first, last, ends[ending.start : ending.stop])
            if not ending:
                continue
            rows = [row for row, place in enumerate(places.tolist()) if place in ending]
            answers = [begin(batch[row]) for row in rows]
            of_rows = [int(places[row]) - ending.start for row in rows]
            likeliest = logits.argmax(-1).tolist()
            take_next(answers, logits[of_rows], [likeliest[row] for row in of_rows])
            entries = run.ended()
            for row, answer in zip(rows, answers, strict=True):
                if answer.done:
                    continue
                path = entries[int(places[row])]
                answer_rows = self._get_rows(run, shape)
                if not filled_start:
                    answer_rows.fill_start(path[:start], run.cache)
                    filled_start = True
                answer_rows.fill(
                    len(growing),
                    path[start:],
                    answer.tokens[-1],
                    answer.request.new_tokens,
                    run.cache,
                )
                answer.own = len(path) - start
                growing.append(answer)
        return growing

    def _get_rows(self, run: PackedRun, shape: RowShape) -> AnswerRows:
        """Return rows of this shape: those of the batch before, with their graphs, where they have it."""
        if self._rows is None or self._rows.shape != shape:
            self._rows = None
            self._rows = AnswerRows(self._model, run.cache, shape, static=self._at_once.static)
        return self._rows

    def _grow(self, answers: list[Answer]) -> None:
        """Run the rows until all answers have ended."""
        rows = self._rows
        while answers:
            assert rows is not None
            is_argmax = answers[0].chooser.is_argmax
            steps = self._at_once.steps if is_argmax else 1
            steps = min(steps, max(answer.missing for answer in answers))
            longest = max(answer.own + len(answer.tokens) - 1 for answer in answers)
            likeliest, logits = rows.run(len(answers), longest, steps)
            # Looking at them waits for the device.
            for tokens in likeliest.tolist():
                take_next(answers, logits, tokens)
            if not is_argmax:
                rows.set_tokens([answer.tokens[-1] for answer in answers])
            for row in reversed(range(len(answers))):
                if answers[row].done:
                    last = answers.pop()
                    if row < len(answers):
                        answers[row] = last
                        rows.move(len(answers), row)


def generate_plain(
    model,
    requests: Sequence[GenerationRequest],
    rows: Callable[[int], int],
    begin: Begin,
    known: Container[int],
) -> None:
    """Generate without a cache: everything is read again for each token. `rows` fit into a batch of a length."""
    active = [begin(at) for at in range(len(requests)) if at not in known]
    while active:
        active.sort(key=lambda answer: -_length(answer))
        rest = active
        while rest:
            longest = _length(rest[0])
            batch, rest = rest[: rows(longest)], rest[rows(longest) :]
            ids = torch.zeros(len(batch), longest, dtype=torch.long)
            last = torch.zeros(len(batch), longest, dtype=torch.bool)
            for row, answer in enumerate(batch):
                tokens = [*answer.request.context, *answer.tokens]
                ids[row, : len(tokens)] = torch.tensor(tokens)
                last[row, len(tokens) - 1] = True
            logits = model.plain(ids, last)
            take_next(batch, logits, logits.argmax(-1).tolist())
        active = [answer for answer in active if not answer.done]


def _length(answer: Answer) -> int:
    return len(answer.request.context) + len(answer.tokens)
