"""Batch the corpus for training: sample documents by kind, and tokenize each as one row."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow.parquet as pq
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast

from workflow_scripts.miniature.corpus import Document, get_text
from workflow_scripts.miniature.specs import TOKENS_PER_BATCH

MAX_TOKENS = 384
# Longer for a conversation, because its system message may have five examples.
MAX_CONVERSATION_TOKENS = 640
# Number of batches for which documents are sampled and sorted by length together.
DRAWN_TOGETHER = 8
# Loss weight of answer tokens, from which exam questions teach most.
ANSWER_WEIGHT = 5.0


class Batch(NamedTuple):
    """Token ids, padded on the right, with the loss weight of each token.

    Attention is causal, so right padding needs no mask.
    """

    ids: torch.Tensor
    weights: torch.Tensor
    answers: torch.Tensor
    """Whether a token is the first of a document's last answer."""


# For each token: id, loss weight, and whether it is the first token of the last answer.
Encoded = list[tuple[int, float, bool]]


class Library:
    """Yield batches of documents, tokenized on the fly; each kind is reshuffled after every pass."""

    def __init__(self, texts: list[Path], encoder: PreTrainedTokenizerFast, rng: Random) -> None:
        self.encoder, self._rng = encoder, rng
        kinds: dict[str, list[Document]] = {}
        for path in texts:
            for row in pq.read_table(path).to_pylist():
                kinds.setdefault(row["kind"], []).append(row)
        self._documents = {kind: self._cycle(documents) for kind, documents in kinds.items()}

    def batches(self, mixture: dict[str, float], *, by_length: bool) -> Iterator[Batch]:
        """Yield batches of a mixture; with `by_length` a batch has documents of similar length, which saves padding.

        Stages of the curriculum do not use it, because batches of a single kind of question make the loss oscillate.
        """
        while True:
            documents: list[Encoded] = []
            size = 0
            while size < DRAWN_TOGETHER * TOKENS_PER_BATCH:
                kind = self._rng.choices(list(mixture), list(mixture.values()))[0]
                documents.append(_encode(next(self._documents[kind]), self.encoder))
                size += len(documents[-1])
            if by_length:
                documents.sort(key=len)
            batches = list(_group(documents))
            self._rng.shuffle(batches)
            yield from map(self._collate, batches)

    def _cycle(self, documents: list[Document]) -> Iterator[Document]:
        while True:
            yield from self._rng.sample(documents, len(documents))

    def _collate(self, documents: list[Encoded]) -> Batch:
        columns = [list(map(torch.tensor, zip(*document, strict=True))) for document in documents]
        paddings = (self.encoder.pad_token_id, 0.0, False)
        rows = zip(zip(*columns, strict=True), paddings, strict=True)
        return Batch(*(pad_sequence(row, batch_first=True, padding_value=p) for row, p in rows))


def _group(documents: list[Encoded]) -> Iterator[list[Encoded]]:
    """Group documents into batches of at most TOKENS_PER_BATCH tokens with padding."""
    batch: list[Encoded] = []
    longest = 0
    for document in documents:
        longest = max(longest, len(document))
        if batch and longest * (len(batch) + 1) > TOKENS_PER_BATCH:
            yield batch
            batch, longest = [], len(document)
        batch.append(document)
    yield batch


def _encode(document: Document, encoder: PreTrainedTokenizerFast) -> Encoded:
    if document["kind"] in ("chat", "conversation") and encoder.chat_template:
        return _encode_chat(document, encoder)
    # Character spans of the answers; prose has none.
    spans, end = [], 0
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        start = end + len(prompt)
        end = start + len(completion)
        if completion:
            spans.append((start, end))
    # The tokenizer adds the family's start token.
    encoded = encoder(get_text(document), return_offsets_mapping=True)
    tokens: Encoded = []
    has_started = not spans
    for token, (start, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
        is_answer = any(first <= start < end <= last for first, last in spans)
        is_first = not has_started and spans[-1][0] <= start < end
        has_started |= is_first
        tokens.append((token, ANSWER_WEIGHT if is_answer else 1.0, is_first))
    return [*tokens, (encoder.eos_token_id, 1.0, False)][:MAX_TOKENS]


def _encode_chat(document: Document, encoder: PreTrainedTokenizerFast) -> Encoded:
    """Encode a conversation in the family's chat template; only the assistant's tokens have loss weight."""
    messages = [("system", document["system"])] if document.get("system") else []
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        messages += [("user", prompt), ("assistant", completion)]
    encoded = encoder.apply_chat_template(
        [{"role": role, "content": content} for role, content in messages],
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    tokens = zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)
    return [(token, float(mask), False) for token, mask in tokens][:MAX_CONVERSATION_TOKENS]
