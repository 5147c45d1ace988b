"""Generate answers in batches of prompts that are neighbours in the trie, running shared prefixes once.

The batches depend on all requests, cached or not. A batch with all answers cached is skipped, and any other batch runs
completely, so that a resumed run gives the same bytes as an uninterrupted one.
"""

from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np
import torch

from .answer import Answer, GenerationRequest
from .attention import RowAttention
from .cache import RowCache, RowShape
from .packed import PackedRun, cut_blocks
from .trie import build_trie


class PackedGeneration:
    """Generation with a CausalModel that runs packed."""

    def __init__(
        self,
        model,
        requests: Sequence[GenerationRequest],
        *,
        block_size: int,
        memory: int,
        max_rows: int,
    ):
        """Decode at most `max_rows` answers together, fewer if `memory` (bytes) requires it."""
        self._model = model
        self._requests = requests
        self._block_size = block_size
        self._memory = memory
        self._max_rows = max_rows
        self._trie, self._sequence_indices = build_trie([request.context for request in requests])
        self.trie_tokens = len(self._trie)

    def run(self, start_answer: Callable[[int], Answer], cached: Container[int]) -> None:
        """Generate the answers that are not cached; `start_answer` creates the answer of a request."""
        for batch, shape in self._build_batches():
            if not all(index in cached for index in batch):
                answers, cache = self._prefill([start_answer(index) for index in batch], shape)
                while answers:
                    self._decode_step(answers, cache)

    def _build_batches(self) -> Iterator[tuple[list[int], RowShape]]:
        """Group requests with neighbouring prompts into batches, as large as the memory allows.

        Once a quarter of the rows is used, a prompt that would halve the common prefix starts another batch.
        """
        batch: list[int] = []
        common = 0  # tokens of the prefix that all prompts of the batch share
        previous = -1
        for index in np.argsort(self._sequence_indices, kind="stable").tolist():
            sequence = self._sequence_indices[index]
            shared = common if sequence == previous else int(self._trie.shared[sequence])
            common_with_next = min(common, shared)
            shape = self._get_shape([*batch, index], common_with_next)
            loses_prefix = 4 * len(batch) >= self._max_rows and 2 * common_with_next < common
            is_full = len(batch) == self._max_rows or not self._has_memory(shape)
            if batch and (loses_prefix or is_full):
                yield batch, self._get_shape(batch, common)
                batch = []
            common = common_with_next if batch else len(self._requests[index].context)
            batch.append(index)
            previous = sequence
        yield batch, self._get_shape(batch, common)

    def _get_shape(self, batch: list[int], common: int) -> RowShape:
        requests = [self._requests[index] for index in batch]
        prefix_length = common if len(batch) > 1 else 0
        prompt_length = max(len(request.context) for request in requests) - prefix_length
        max_new_tokens = max(request.max_new_tokens for request in requests)
        return RowShape(len(batch), prefix_length, prompt_length, prompt_length + max_new_tokens)

    def _has_memory(self, shape: RowShape) -> bool:
        entries = shape.rows * shape.capacity + shape.prefix_length
        return entries * self._model.cache_bytes <= self._memory

    def _prefill(
        self, batch: list[Answer], shape: RowShape
    ) -> tuple[list[Answer], RowCache | None]:
        """Run the prompts of a batch and add the first tokens; return the unfinished answers and their cache rows."""
        trie, sequence_indices = build_trie([answer.request.context for answer in batch])
        run = PackedRun(self._model, trie, self._block_size)
        last_nodes = trie.last_nodes[sequence_indices]
        unfinished: list[Answer] = []
        cache = None
        for start, end in cut_blocks(trie, self._block_size):
            ending = np.flatnonzero((start <= last_nodes) & (last_nodes < end))
            # Equal prompts have the same last node, and so the same row of logits.
            distinct, rows = np.unique(last_nodes[ending], return_inverse=True)
            logits = run.run_block(start, end, distinct)
            greedy_tokens = logits.argmax(-1).tolist()
            for index, row in zip(ending.tolist(), rows.tolist(), strict=True):
                answer = batch[index]
                answer.add_next(logits[row], greedy_tokens[row])
                if answer.is_done:
                    continue
                entries = run.find_entries(int(last_nodes[index]))
                if cache is None:
                    cache = RowCache(run.cache, shape, entries[: shape.prefix_length])
                cache.fill_row(len(unfinished), entries[shape.prefix_length :], run.cache)
                unfinished.append(answer)
        return unfinished, cache

    def _decode_step(self, answers: list[Answer], cache: RowCache | None) -> None:
        """Decode one token of each answer, and move the last rows into the rows of finished answers."""
        assert cache is not None
        device = self._model.device
        ids = torch.tensor([answer.tokens[-1:] for answer in answers], device=device)
        positions = torch.tensor([answer.length - 1 for answer in answers], device=device)
        attention = RowAttention(positions, cache)
        logits = self._model.run(ids, positions[:, None], attention, cache)[:, -1]
        greedy_tokens = logits.argmax(-1).tolist()
        for row, answer in enumerate(answers):
            answer.add_next(logits[row], greedy_tokens[row])
        for row in reversed(range(len(answers))):
            if answers[row].is_done:
                last = answers.pop()
                if row < len(answers):
                    answers[row] = last
                    cache.move_row(len(answers), row)


def generate_plain(model, answers: list[Answer], max_tokens: int) -> None:
    """Generate in batches without a cache: each token runs the whole sequence again."""
    answers = sorted(answers, key=lambda answer: -answer.length)
    while answers:
        size = max(1, max_tokens // answers[0].length)
        batch, answers = answers[:size], answers[size:]
        while batch:
            logits = model.run_plain([answer.all_tokens for answer in batch])
            for answer, rows in zip(batch, logits, strict=True):
                row = rows[answer.length - 1]
                answer.add_next(row, int(row.argmax()))
            batch = [answer for answer in batch if not answer.is_done]
