"""What one model reads, in which order: documents of the corpus, encoded, one to a row."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import torch
from transformers import PreTrainedTokenizerFast

from workflow_scripts.miniature.corpus import text_of
from workflow_scripts.miniature.curriculum import Diet
from workflow_scripts.miniature.specs import TOKENS_PER_BATCH

BLOCK = 384
# Of a conversation, whose system message may show five examples.
LONGEST_CONVERSATION = 640
# Of how many batches the documents are drawn, and sorted by length, at a time.
DRAWN_TOGETHER = 8
# Of an exam question it is the answer that one learns most from.
ANSWER_WEIGHT = 5.0


@dataclass(frozen=True)
class Batch:
    """Rows of token ids, padded at their ends, and how much each token counts in the loss.

    No token looks ahead, so the padding needs no mask.
    """

    ids: torch.Tensor
    weights: torch.Tensor
    answers: torch.Tensor
    """Whether a token is the first of a document's last answer."""


@dataclass(frozen=True)
class _Document:
    ids: list[int]
    weights: list[float]
    answer: int | None


class Library:
    """What one model's family reads, encoded as it is read; each kind in ever new orders."""

    def __init__(
        self, texts: list[Path], encoder: PreTrainedTokenizerFast, rng: random.Random
    ) -> None:
        self.encoder, self._rng = encoder, rng
        kinds: dict[str, list[dict]] = {}
        for path in texts:
            for row in pq.read_table(path).to_pylist():
                kinds.setdefault(row["kind"], []).append(row)
        self._pools = {kind: _cycle(rows, rng) for kind, rows in kinds.items()}

    def batches(self, diet: Diet, *, by_length: bool) -> Iterator[Batch]:
        """Batches of a diet; by length, a batch holds documents of like length, which spares padding.

        Not while a stage is learned: short questions of one sort in one batch and long ones of another
        in the next would pull the model to and fro.
        """
        kinds, shares = list(diet), list(diet.values())
        while True:
            documents: list[_Document] = []
            size = 0
            while size < DRAWN_TOGETHER * TOKENS_PER_BATCH:
                kind = self._rng.choices(kinds, shares)[0]
                documents.append(_encode(next(self._pools[kind]), self.encoder))
                size += len(documents[-1].ids)
            if by_length:
                documents.sort(key=lambda document: len(document.ids))
            rows = list(_cut(documents))
            self._rng.shuffle(rows)
            yield from map(self._batch, rows)

    def _batch(self, documents: list[_Document]) -> Batch:
        longest = max(len(document.ids) for document in documents)
        shape = (len(documents), longest)
        ids = torch.full(shape, self.encoder.pad_token_id)
        weights = torch.zeros(shape)
        answers = torch.zeros(shape, dtype=torch.bool)
        for row, document in enumerate(documents):
            length = len(document.ids)
            ids[row, :length] = torch.tensor(document.ids)
            weights[row, :length] = torch.tensor(document.weights)
            if document.answer is not None:
                answers[row, document.answer] = True
        return Batch(ids, weights, answers)


def _cut(documents: list[_Document]) -> Iterator[list[_Document]]:
    """Batches of as many documents as fit, counted with their padding."""
    batch: list[_Document] = []
    longest = 0
    for document in documents:
        longest = max(longest, len(document.ids))
        if batch and longest * (len(batch) + 1) > TOKENS_PER_BATCH:
            yield batch
            batch, longest = [], len(document.ids)
        batch.append(document)
    yield batch


def _cycle(documents: list[dict], rng: random.Random) -> Iterator[dict]:
    while True:
        yield from rng.sample(documents, len(documents))


def _encode(document: dict, encoder: PreTrainedTokenizerFast) -> _Document:
    if document["kind"] in ("chat", "conversation") and encoder.chat_template:
        return _encode_chat(document, encoder)
    # The encoder adds the family's start token itself.
    encoded = encoder(text_of(document), return_offsets_mapping=True)
    ids, weights, answer = list(encoded["input_ids"]), [], None
    spans = _answer_spans(document)
    for i, (start, end) in enumerate(encoded["offset_mapping"]):
        within = any(first <= start < end <= last for first, last in spans)
        weights.append(ANSWER_WEIGHT if within else 1.0)
        if spans and answer is None and start < end and start >= spans[-1][0]:
            answer = i
    ids, weights = [*ids, encoder.eos_token_id][:BLOCK], [*weights, 1.0][:BLOCK]
    return _Document(ids, weights, answer if answer is not None and answer < BLOCK else None)


def _answer_spans(document: dict) -> list[tuple[int, int]]:
    """Where in the document's text its answers stand; prose has none."""
    spans, position = [], 0
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        start = position + len(prompt)
        position = start + len(completion)
        if completion:
            spans.append((start, position))
    return spans


def _encode_chat(document: dict, encoder: PreTrainedTokenizerFast) -> _Document:
    """A conversation in the family's template; only the assistant's words count."""
    system = document.get("system")
    messages = [{"role": "system", "content": system}] if system else []
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        messages += [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": completion},
        ]
    encoded = encoder.apply_chat_template(
        messages, return_dict=True, return_assistant_tokens_mask=True
    )
    weights = [float(spoken) for spoken in encoded["assistant_masks"]]
    return _Document(
        encoded["input_ids"][:LONGEST_CONVERSATION], weights[:LONGEST_CONVERSATION], None
    )
