"""Convert rows to samples: blocks of text, conversations, and prompts with completions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.training.chat import (
    COLUMNS,
    BadConversation,
    read_messages,
    render_conversation,
)
from workflow_scripts.training.samples import BadSamples, Sample, iterate_batches

Row = dict[str, Any]


def tokenise_text(
    tokenizer,
    rows: Iterable[Row],
    bad: BadSamples,
    *,
    column: str | None,
    length: int,
    document_per_row: bool,
) -> Iterator[Sample]:
    """Yield running text in blocks of `length` tokens, all in the loss; the last block may be shorter.

    With `document_per_row`, each row is a document and ends with the end-of-text token. If the tokenizer adds a BOS
    token, each document and each block begins with it.
    """
    bos, eos = np.array(get_bos_tokens(tokenizer), np.int32), tokenizer.eos_token_id
    if document_per_row and eos is None:
        raise UserError("The tokenizer has no end-of-text token to end each row's document.")
    buffer = np.empty(0, np.int32)
    for texts in iterate_batches(_read_texts(rows, bad, column or "text", document_per_row)):
        if document_per_row:
            encoded = [[*bos, *ids, eos] for ids in _encode(tokenizer, texts)]
        else:
            encoded = _encode(tokenizer, ["".join(texts)])
        buffer = np.concatenate([buffer, *(np.array(ids, np.int32) for ids in encoded)])
        while len(buffer) >= length:
            missing_bos = _get_missing_bos(bos, buffer)
            size = length - len(missing_bos)
            yield make_sample(np.concatenate([missing_bos, buffer[:size]]))
            buffer = buffer[size:]
    rest = np.concatenate([_get_missing_bos(bos, buffer), buffer])
    if len(buffer) and len(rest) > 1:  # a single token has no target
        yield make_sample(rest)


def tokenise_conversations(
    tokenizer,
    rows: Iterable[Row],
    bad: BadSamples,
    *,
    column: str | None,
    length: int,
    system: str | None,
) -> Iterator[Sample]:
    """Yield a sample for each conversation, truncated to `length` tokens; the assistant's turns are in the loss.

    `system` is the system message of conversations that have none.
    """
    if tokenizer.chat_template is None:
        raise UserError(
            "The tokenizer has no chat template, which training on conversations needs."
        )
    for batch in iterate_batches(_render_conversations(tokenizer, rows, bad, column, system)):
        encoded = tokenizer(
            [text for text, _ in batch],
            add_special_tokens=False,  # the chat template added them
            return_offsets_mapping=True,
            verbose=False,
        )
        tokenised = zip(batch, encoded["input_ids"], encoded["offset_mapping"], strict=True)
        for (_, spans), ids, offsets in tokenised:
            loss_mask = _mark_tokens(offsets, spans)
            yield from cut_sample(Sample(np.array(ids, np.int32), loss_mask), length, bad)


def make_sample(tokens: Sequence[int] | np.ndarray, start: int = 0) -> Sample:
    """Make a sample with the tokens from `start` in the loss, except the first of all, which is not predicted."""
    return Sample(np.array(tokens, np.int32), np.arange(len(tokens)) >= max(start, 1))


def cut_sample(sample: Sample, length: int, bad: BadSamples) -> Iterator[Sample]:
    """Yield the sample truncated to `length` tokens, unless no token in the loss remains."""
    if len(sample.tokens) > length:
        bad["too long, cut"] += 1
        sample = Sample(sample.tokens[:length], sample.loss_mask[:length])
    if sample.loss_mask.any():
        yield sample
    else:
        bad["nothing left that counts"] += 1


def _mark_tokens(offsets: list[tuple[int, int]], spans: list[tuple[int, int]]) -> np.ndarray:
    """Return the mask of the tokens that overlap a span, without the first of a sample, which is not predicted.

    Overlap is enough, because the first word of a turn may form one token with the last space of the header.
    """
    token_starts, token_ends = np.array(offsets).reshape(-1, 2).T
    mask = np.zeros(len(offsets), bool)
    for start, end in spans:
        mask |= (token_ends > start) & (token_starts < end)
    mask[:1] = False
    return mask


def _get_missing_bos(bos: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the BOS token, or nothing if the tokens already begin with it, as at the start of a document."""
    return bos[:0] if np.array_equal(tokens[: len(bos)], bos) else bos


def _encode(tokenizer, texts: list[str]) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]


def _read_texts(
    rows: Iterable[Row], bad: BadSamples, column: str, document_per_row: bool
) -> Iterator[str]:
    for row in rows:
        text = row.get(column)
        if not isinstance(text, str):
            bad["not text"] += 1
        elif document_per_row and not text.strip():  # in running text, an empty row is a blank line
            bad["empty"] += 1
        else:
            yield text


def _render_conversations(
    tokenizer, rows: Iterable[Row], bad: BadSamples, column: str | None, system: str | None
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the text of each conversation and its spans in the loss."""
    columns = [column] if column else COLUMNS
    for row in rows:
        turns = next((row[name] for name in columns if name in row), None)
        try:
            yield render_conversation(tokenizer, read_messages(turns, system))
        except BadConversation as error:
            bad[str(error)] += 1
