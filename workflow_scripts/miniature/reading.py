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


class Tokens(NamedTuple):
    """Token ids of a document or of a batch, with the loss weight of each token.

    A batch is padded on the right, which needs no mask, because attention is causal.
    """

    ids: torch.Tensor
    weights: torch.Tensor
    answers: torch.Tensor
    """Whether a token is the first of a document's last answer."""


class Library:
    """Yield batches of documents, tokenized on the fly; each kind is reshuffled after every pass."""

    def __init__(self, texts: list[Path], encoder: PreTrainedTokenizerFast, rng: Random) -> None:
        self._encoder, self._rng = encoder, rng
        kinds: dict[str, list[Document]] = {}
        for path in texts:
            for row in pq.read_table(path).to_pylist():
                kinds.setdefault(row["kind"], []).append(row)
        self._documents = {kind: self._cycle(documents) for kind, documents in kinds.items()}

    def batches(self, mixture: dict[str, float], *, by_length: bool) -> Iterator[Tokens]:
        """Yield batches of a mixture; with `by_length` a batch has documents of similar length, which saves padding.

        Stages of the curriculum do not use it, because batches of a single kind of question make the loss oscillate.
        """
        while True:
            documents: list[Tokens] = []
            size = 0
            while size < DRAWN_TOGETHER * TOKENS_PER_BATCH:
                kind = self._rng.choices(list(mixture), list(mixture.values()))[0]
                documents.append(_encode(next(self._documents[kind]), self._encoder))
                size += len(documents[-1].ids)
            if by_length:
                documents.sort(key=lambda document: len(document.ids))
            batches = list(_group(documents))
            self._rng.shuffle(batches)
            yield from map(self._collate, batches)

    def _cycle(self, documents: list[Document]) -> Iterator[Document]:
        while True:
            yield from self._rng.sample(documents, len(documents))

    def _collate(self, documents: list[Tokens]) -> Tokens:
        ids, weights, answers = zip(*documents, strict=True)
        padding = self._encoder.pad_token_id
        return Tokens(
            pad_sequence(ids, True, padding),
            pad_sequence(weights, True),
            pad_sequence(answers, True),
        )


def _group(documents: list[Tokens]) -> Iterator[list[Tokens]]:
    """Group documents into batches of at most TOKENS_PER_BATCH tokens with padding."""
    batch: list[Tokens] = []
    longest = 0
    for document in documents:
        longest = max(longest, len(document.ids))
        if batch and longest * (len(batch) + 1) > TOKENS_PER_BATCH:
            yield batch
            batch, longest = [], len(document.ids)
        batch.append(document)
    yield batch


def _encode(document: Document, encoder: PreTrainedTokenizerFast) -> Tokens:
    if document["kind"] in ("chat", "conversation") and encoder.chat_template:
        return _encode_chat(document, encoder)
    # The tokenizer adds the family's start token.
    encoded = encoder(get_text(document) + encoder.eos_token, return_offsets_mapping=True)
    starts, ends = torch.tensor(encoded["offset_mapping"]).T
    weights = torch.ones(len(starts))
    answers = torch.zeros(len(starts), dtype=torch.bool)
    last = 0
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        first = last + len(prompt)
        last = first + len(completion)
        weights[(starts >= first) & (starts < ends) & (ends <= last)] = ANSWER_WEIGHT
    if completion:  # prose has none
        answers[((starts >= first) & (starts < ends)).nonzero()[0]] = True
    ids = torch.tensor(encoded["input_ids"])
    return Tokens(ids[:MAX_TOKENS], weights[:MAX_TOKENS], answers[:MAX_TOKENS])


def _encode_chat(document: Document, encoder: PreTrainedTokenizerFast) -> Tokens:
    """Encode a conversation in the family's chat template; only the assistant's tokens have loss weight."""
    messages = [("system", document["system"])] if document.get("system") else []
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        messages += [("user", prompt), ("assistant", completion)]
    encoded = encoder.apply_chat_template(
        [{"role": role, "content": content} for role, content in messages],
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    ids = torch.tensor(encoded["input_ids"][:MAX_CONVERSATION_TOKENS])
    weights = torch.tensor(
        encoded["assistant_masks"][:MAX_CONVERSATION_TOKENS], dtype=torch.float32
    )
    return Tokens(ids, weights, torch.zeros(len(ids), dtype=torch.bool))
