"""Generation in batches of prompts that are neighbours in the trie: what they share is read once.

Which requests make a batch follows from all of them. A batch whose answers are known is left out and any other is run
as a whole, so that a run that was interrupted ends in the same bytes.
"""

from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np
import torch

from .answer import Answer, GenerationRequest
from .attention import RowAttention
from .cache import RowCache, RowShape, TreeCache
from .graphs import StepGraphs
from .packed import PackedRun, cut_blocks
from .trie import build_trie

# On a GPU, entries of a row that a step reads come in multiples of this, so that few shapes occur.
_STATIC_ENTRIES = 128


class AnswerRows:
    """The rows of a batch: their cache, and what their next step runs."""

    def __init__(self, model, source: TreeCache, shape: RowShape, static: bool):
        self._model = model  # a CausalModel
        self.shape = shape
        self._static = static
        # Of each row the token to run, how many entries it has and how many it may have.
        self._state = torch.zeros(3, shape.rows, dtype=torch.long, device=model.device)
        self._cache = RowCache(source, shape, self._state[1])
        self.fill_start = self._cache.fill_start
        self._graphs = StepGraphs(model) if static and model.device.type == "cuda" else None

    def fill(self, row: int, answer: Answer, entries: np.ndarray, source: TreeCache) -> None:
        """Copy a prompt, and set the token to run behind it."""
        self._cache.fill(row, entries, source)
        # The last token of an answer is not read.
        limit = len(entries) + max(answer.request.new_tokens - 2, 0)
        self._state[:, row] = torch.tensor([answer.tokens[-1], len(entries), limit])

    def move(self, source: int, target: int) -> None:
        """Let a row stand where another has ended."""
        self._cache.move(source, target)
        self._state[:, target] = self._state[:, source]

    def set_tokens(self, tokens: list[int]) -> None:
        """Set what the first rows are to run, where it is not the likeliest token."""
        self._state[0, : len(tokens)] = torch.tensor(tokens)

    def run(self, rows: int, longest: int, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Run some steps of the first rows, the longest of which has so many entries.

        Returns the likeliest token of each row at each step, and the logits of the last step.
        """
        width, count = rows, longest + steps
        if self._static:
            width = min(1 << (rows - 1).bit_length(), self.shape.rows)
            count = -(-count // _STATIC_ENTRIES) * _STATIC_ENTRIES
        count = min(count, self.shape.capacity)
        self._cache.set_count(count)
        likeliest = []
        for _ in range(steps):
            if self._graphs is None:
                logits = self._step(width, count)
            else:
                step = lambda: self._step(width, count)  # noqa: E731 (recorded with its shape)
                logits = self._graphs.run((width, count), step, self._state)
            self._model.tokens_run += width
            likeliest.append(self._state[0, :rows].clone())
        return torch.stack(likeliest), logits[:rows]

    def _step(self, width: int, count: int) -> torch.Tensor:
        """Run the token of each of the first rows; its likeliest successor is run next."""
        ids, lengths, limits = self._state[:, :width]
        start = self.shape.start
        positions = lengths + start
        attention = RowAttention(positions, start + count, self._cache)
        logits = self._model.decode(ids, positions, attention, self._cache)
        ids.copy_(logits.argmax(-1))
        # A row that has ended goes on in place, for nothing.
        lengths.copy_(torch.minimum(lengths + 1, limits))
        return logits


class PackedGeneration:
    """Generation of a CausalModel that runs packed."""

    def __init__(
        self,
        model,
        requests: Sequence[GenerationRequest],
        *,
        block: int,
        memory: int,
        max_rows: int,
        steps: int,
        static: bool,
    ):
        """Let answers whose rows fit into some memory grow side by side, and look at them after so many steps."""
        self._model = model
        self._requests = requests
        self._block, self._memory = block, memory
        self._max_rows, self._steps, self._static = max_rows, steps, static
        self._rows: AnswerRows | None = None
        self._trie, self._places = build_trie([request.context for request in requests])
        self.trie_tokens = len(self._trie)

    def run(self, begin: Callable[[int], Answer], known: Container[int]) -> None:
        """Answer all requests that are not known; `begin` starts an answer."""
        for batch, shape in self._build_batches():
            if not all(index in known for index in batch):
                self._grow(self._read([begin(index) for index in batch], shape))

    def _build_batches(self) -> Iterator[tuple[list[int], RowShape]]:
        """Put together requests whose prompts are neighbours, as many as the memory allows.

        Once a quarter of the rows is taken, a prompt that would halve the common prefix begins another batch.
        """
        batch: list[int] = []
        common = 0
        place = -1
        for index in np.argsort(self._places, kind="stable").tolist():
            length = len(self._requests[index].context)
            is_same, place = place == self._places[index], self._places[index]
            narrowed = common if is_same else min(common, int(self._trie.shared[place]))
            shape = self._get_shape([*batch, index], narrowed)
            leaves = 4 * len(batch) >= self._max_rows and 2 * narrowed < common
            if batch and (leaves or len(batch) == self._max_rows or not self._fits(shape)):
                yield batch, self._get_shape(batch, common)
                batch = []
            common = narrowed if batch else length
            batch.append(index)
        yield batch, self._get_shape(batch, common)

    def _get_shape(self, batch: list[int], common: int) -> RowShape:
        requests = [self._requests[index] for index in batch]
        capacity = max(len(request.context) + request.new_tokens for request in requests)
        step = _STATIC_ENTRIES if self._static else 1
        start = common // step * step if len(batch) > 1 else 0
        return RowShape(len(batch), -(-(capacity - start) // step) * step, start)

    def _fits(self, shape: RowShape) -> bool:
        entries = shape.rows * shape.capacity + shape.start
        return entries * self._model.cache_bytes <= self._memory

    def _read(self, batch: list[Answer], shape: RowShape) -> list[Answer]:
        """Read the prompts of a batch and return the answers that go on, by their rows."""
        trie, places = build_trie([answer.request.context for answer in batch])
        run = PackedRun(self._model, trie, self._block)
        nodes = trie.last_nodes[places]
        growing: list[Answer] = []
        for start, end in cut_blocks(trie, self._block):
            ending = np.flatnonzero((start <= nodes) & (nodes < end))
            distinct, rows = np.unique(nodes[ending], return_inverse=True)
            logits = run.run(start, end, distinct)
            likeliest = logits.argmax(-1).tolist()
            for index, row in zip(ending.tolist(), rows.tolist(), strict=True):
                answer = batch[index]
                answer.add_next(logits[row], likeliest[row])
                if answer.done:
                    continue
                entries = run.find_entries(int(nodes[index]))
                if not growing:
                    answer_rows = self._prepare_rows(run.cache, shape, entries)
                answer_rows.fill(len(growing), answer, entries[shape.start :], run.cache)
                growing.append(answer)
        return growing

    def _prepare_rows(self, source: TreeCache, shape: RowShape, entries: np.ndarray) -> AnswerRows:
        """Reuse the rows of the batch before, with their graphs, where they have the same shape."""
        if self._rows is None or self._rows.shape != shape:
            self._rows = None
            self._rows = AnswerRows(self._model, source, shape, self._static)
        self._rows.fill_start(entries[: shape.start], source)
        return self._rows

    def _grow(self, answers: list[Answer]) -> None:
        """Run the rows until all answers have ended."""
        rows = self._rows
        while answers:
            assert rows is not None
            is_argmax = answers[0].sampler.is_argmax
            steps = self._steps if is_argmax else 1
            steps = min(steps, max(answer.missing for answer in answers))
            longest = max(answer.length for answer in answers) - 1 - rows.shape.start
            likeliest, logits = rows.run(len(answers), longest, steps)
            # Copying them waits for the device.
            for tokens in likeliest.tolist():
                for row, answer in enumerate(answers):
                    answer.add_next(logits[row], tokens[row])
            if not is_argmax:
                rows.set_tokens([answer.tokens[-1] for answer in answers])
            for row in reversed(range(len(answers))):
                if answers[row].done:
                    last = answers.pop()
                    if row < len(answers):
                        answers[row] = last
                        rows.move(len(answers), row)


def generate_plain(
    model, begin: Callable[[int], Answer], unknown: Sequence[int], max_tokens: int
) -> None:
    """Generate without a cache: everything is read again for each token."""
    answers = [begin(index) for index in unknown]
    while answers:
        answers.sort(key=lambda answer: -answer.length)
        start = 0
        while start < len(answers):
            batch = answers[start : start + max(1, max_tokens // answers[start].length)]
            start += len(batch)
            logits = model.plain([[*answer.request.context, *answer.tokens] for answer in batch])
            for answer, rows in zip(batch, logits, strict=True):
                row = rows[answer.length - 1]
                answer.add_next(row, int(row.argmax()))
        answers = [answer for answer in answers if not answer.done]
