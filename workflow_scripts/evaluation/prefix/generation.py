"""Generation: what prompts share is read once, and whoever has ended makes room for the next.

Prompts are read in packed blocks, only as fast as rows become free. An answer then has a row of its
own until it ends. Which row it has, beside whom, follows from the lengths of the answers alone: with
answers that are known from an earlier run the same steps are taken, but for those in which nobody
unknown takes part, so that a run that was interrupted ends in the same bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from workflow_scripts.evaluation.prefix.answer import Answer, score_rivals, take_next
from workflow_scripts.evaluation.prefix.answer_rows import AnswerRows, attention_of
from workflow_scripts.evaluation.prefix.generation_plan import Plan
from workflow_scripts.evaluation.prefix.packed import PackedRun, with_ancestors
from workflow_scripts.evaluation.prefix.score_packed import cut
from workflow_scripts.evaluation.prefix.seats import Seats
from workflow_scripts.evaluation.prefix.trie import Trie


def generate_packed(
    model,
    trie: Trie,
    places: np.ndarray,
    plan: Plan,
    known: Mapping[int, list[int]],
    begin: Callable[[int], Answer],
) -> int:
    """Answer all requests: `begin` starts an answer, `places` says which sequence of the trie it continues.

    Returns the tokens that reading the prompts takes.
    """
    run = PackedRun(model, trie, plan.capacity)
    _Growing(model, run, plan).answer_all(_read(run, plan, places, known, begin))
    return len(run.order)


class _Prompt:
    """An answer with its first token, and where its prompt is in the cache; nowhere if not read."""

    def __init__(self, answer: Answer, place: int, entries: np.ndarray | None):
        self.answer, self.place, self.entries = answer, place, entries


def _read(
    run: PackedRun, plan: Plan, places: np.ndarray, known: Mapping, begin: Callable[[int], Answer]
) -> Iterator[list[_Prompt]]:
    """Read the prompts, a block when somebody asks for the next; entries are gone after that."""
    starts = run.order.starts
    ends = starts[1:] - 1  # the last token of each prompt
    requests: list[list[int]] = [[] for _ in ends]  # that continue each prompt
    for request, place in enumerate(places):
        requests[place].append(request)
    edges = cut(run.order, plan.block, ends, plan.logit_rows)
    ending = [range(*np.searchsorted(ends, edge)) for edge in edges]
    unknown = np.array([any(at not in known for p in ps for at in requests[p]) for ps in ending])
    needed = with_ancestors(run.order, [start for start, _ in edges], unknown)
    for (start, end), of_block, is_read in zip(edges, ending, needed, strict=True):
        answers = [(begin(at), place) for place in of_block for at in requests[place]]
        entries: dict[int, np.ndarray] = {}
        if is_read:
            run.forget_before(start)
            logits = run.run(start, end, ends[of_block.start : of_block.stop])
            entries = run.ended()
            likeliest = logits.argmax(-1).tolist()
            rows = [place - of_block.start for _, place in answers]
            begun = [answer for answer, _ in answers]
            score_rivals(begun, logits, rows)
            take_next(begun, [logits[row] for row in rows], [likeliest[row] for row in rows])
            del logits  # answers grow before the next block is read
        else:
            for answer, _ in answers:
                answer.take(-1)
        yield [
            _Prompt(answer, place, entries.get(place))
            for answer, place in answers
            if not answer.done
        ]


class _Growing:
    """The answers that have a row."""

    def __init__(self, model, run: PackedRun, plan: Plan):
        self._model, self._run, self._plan = model, run, plan
        shape = plan.shape
        self._seats = Seats(shape.rows, shape.lanes, shape.per_lane)
        self._rows: AnswerRows | None = None
        self._active: list[_Prompt | None] = []
        self._waiting: deque[_Prompt] = deque()  # they have been read, and there was no room yet

    def answer_all(self, prompts: Iterator[list[_Prompt]]) -> None:
        while active := self._refill(prompts):
            if all(prompt.answer.known is not None for prompt in active):
                for steps, _ in self._until_one_ends(active):
                    for prompt in active * steps:
                        prompt.answer.take(-1)
                continue
            assert self._rows is not None
            with attention_of(self._model, self._plan.shape, self._rows.cache):
                for steps, argmax in self._until_one_ends(active):
                    self._run_rows(self._rows, active, steps, argmax)

    def _until_one_ends(self, active: list[_Prompt]) -> Iterator[tuple[int, bool]]:
        """How many steps to take at once, and whether all take the likeliest token."""
        answers = [prompt.answer for prompt in active]
        argmax = all(answer.chooser.is_argmax for answer in answers)
        while not any(answer.done for answer in answers):
            left = max(answer.request.new_tokens - len(answer.tokens) for answer in answers)
            yield min(self._plan.at_once.steps if argmax else 1, left), argmax

    def _run_rows(self, rows: AnswerRows, active: list[_Prompt], steps: int, argmax: bool) -> None:
        longest = max(self._own(prompt) for prompt in active)
        likeliest, logits = rows.run(len(active), longest, self._seats.lanes_in_use, steps)
        # Looking at them waits for the device, and the rules look at what they choose.
        for tokens in likeliest.tolist() if argmax else [None] * steps:
            take_next([prompt.answer for prompt in active], logits, tokens)
        if not argmax:
            rows.choose([prompt.answer.tokens[-1] for prompt in active])

    def _refill(self, prompts: Iterator[list[_Prompt]]) -> list[_Prompt]:
        """Give the rows of answers that have ended to the next ones, and close the gaps."""
        active = self._active
        for row, prompt in enumerate(active):
            if prompt and prompt.answer.done:
                self._seats.leave(row)
                active[row] = None
        while None in active or len(active) < self._plan.shape.rows:
            if not self._waiting:
                self._settle()
                more = next(prompts, None)
                if more is None:
                    break
                self._waiting.extend(more)
                continue
            row = active.index(None) if None in active else len(active)
            if not self._place(row, self._waiting[0]):
                break
            active[row : row + 1] = [self._waiting.popleft()]
        self._settle()
        while None in active:
            if prompt := active.pop():
                row = active.index(None)
                active[row] = prompt
                self._seats.move(len(active), row)
                if self._rows and prompt.answer.known is None:
                    self._rows.move(len(active), row, self._own(prompt), self._seats.of_row[row])
        return [prompt for prompt in active if prompt]

    def _settle(self) -> None:
        if self._rows:
            self._rows.settle()

    def _place(self, row: int, prompt: _Prompt) -> bool:
        """Whether there was room for it."""
        families, place = self._plan.families, prompt.place
        family = int(families.of[place])
        if family >= 0 and not self._seats.take(row, family):
            return False
        if prompt.answer.known is None:
            if self._rows is None:
                cache, at_once = self._run.cache, self._plan.at_once
                self._rows = AnswerRows(self._model, cache, self._plan.shape, static=at_once.static)
            assert prompt.entries is not None
            self._rows.fill(
                row,
                prompt.entries,
                prompt.answer.tokens[-1],
                prompt.answer.request.new_tokens,
                self._seats.of_row[row],
                family,
                int(families.common[place]),
            )
        return True

    def _own(self, prompt: _Prompt) -> int:
        """Entries of a row's own, before its last token is run."""
        answer, common = prompt.answer, self._plan.families.common[prompt.place]
        return len(answer.request.context) - int(common) + len(answer.tokens) - 1
