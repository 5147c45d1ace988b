"""Convert rows to samples: blocks of text, conversations, and prompts with completions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.training.chat import COLUMNS, BadConversation, read_messages, render
from workflow_scripts.training.samples import BadSamples, Sample, batches

Row = dict[str, Any]


def tokenise_text(
    tokenizer,
    rows: Iterable[Row],
    bad: BadSamples,
    *,
    column: str | None,
    length: int,
    each_row_ends: bool,
) -> Iterator[Sample]:
    """Yield running text in blocks of `length` tokens that all count in the loss; the last block may be shorter.

    With `each_row_ends`, each row is a document and ends with the end-of-text token. If the tokenizer adds a start
    token, each document and each block begins with it.
    """
    start, end = np.array(get_bos_tokens(tokenizer), np.int32), tokenizer.eos_token_id
    if each_row_ends and end is None:
        raise UserError("The tokenizer has no end of text to put behind each row's document.")
    buffer = np.empty(0, np.int32)
    for texts in batches(_read_texts(rows, bad, column or "text", each_row_ends)):
        if each_row_ends:
            encoded = [[*start, *ids, end] for ids in _encode(tokenizer, texts)]
        else:
            encoded = _encode(tokenizer, ["".join(texts)])
        buffer = np.concatenate([buffer, *(np.array(ids, np.int32) for ids in encoded)])
        while len(buffer) >= length:
            lead = _get_lead(start, buffer)
            size = length - len(lead)
            yield make_sample(np.concatenate([lead, buffer[:size]]))
            buffer = buffer[size:]
    rest = np.concatenate([_get_lead(start, buffer), buffer])
    if len(buffer) and len(rest) > 1:  # a single token has no target
        yield make_sample(rest)


def tokenise_conversations(
    tokenizer,
    rows: Iterable[Row],
    bad: BadSamples,
    *,
    column: str | None,
    length: int,
    system: str | None = None,
) -> Iterator[Sample]:
    """Yield a sample for each conversation, truncated to `length`; the loss counts the assistant's turns.

    `system` is the system message of conversations that have none.
    """
    if tokenizer.chat_template is None:
        raise UserError(
            "The tokenizer has no chat template, which training on conversations needs."
        )
    for batch in batches(_render_conversations(tokenizer, rows, bad, column, system)):
        encoded = tokenizer(
            [text for text, _ in batch],
            add_special_tokens=False,  # the chat template added them
            return_offsets_mapping=True,
            verbose=False,
        )
        tokenised = zip(batch, encoded["input_ids"], encoded["offset_mapping"], strict=True)
        for (_, spans), ids, offsets in tokenised:
            counted = _mark_tokens(offsets, spans)
            yield from cut_sample(Sample(np.array(ids, np.int32), counted), length, bad)


def make_sample(tokens: Sequence[int] | np.ndarray, start: int = 0) -> Sample:
    """Make a sample of which the loss counts the tokens from `start`, but never the first, which is not predicted."""
    return Sample(np.array(tokens, np.int32), np.arange(len(tokens)) >= max(start, 1))


def cut_sample(sample: Sample, length: int, bad: BadSamples) -> Iterator[Sample]:
    """Yield the sample truncated to `length`, unless no token in the loss remains."""
    if len(sample.tokens) > length:
        bad["too long, cut"] += 1
        sample = Sample(sample.tokens[:length], sample.counted[:length])
    if sample.counted.any():
        yield sample
    else:
        bad["nothing left that counts"] += 1


def _mark_tokens(offsets: list[tuple[int, int]], spans: list[tuple[int, int]]) -> np.ndarray:
    """Mark the tokens that overlap a span, except the first token of a sample, which is never predicted.

    Overlap is enough, because the first word of a turn may form one token with the last space of the header.
    """
    begins, ends = np.array(offsets).reshape(-1, 2).T
    marks = np.zeros(len(offsets), bool)
    for start, end in spans:
        marks |= (ends > start) & (begins < end)
    marks[:1] = False
    return marks


def _get_lead(start: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the start token, unless the tokens already begin with it, as at the start of a document."""
    return start[:0] if np.array_equal(tokens[: len(start)], start) else start


def _encode(tokenizer, texts: list[str]) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]


def _read_texts(
    rows: Iterable[Row], bad: BadSamples, column: str, documents: bool
) -> Iterator[str]:
    for row in rows:
        text = row.get(column)
        if not isinstance(text, str):
            bad["not text"] += 1
        elif documents and not text.strip():  # in running text, an empty row is a blank line
            bad["empty"] += 1
        else:
            yield text


def _render_conversations(
    tokenizer, rows: Iterable[Row], bad: BadSamples, column: str | None, system: str | None
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the text of each conversation and the spans that count in the loss."""
    columns = [column] if column else COLUMNS
    for row in rows:
        turns = next((row[name] for name in columns if name in row), None)
        try:
            yield render(tokenizer, read_messages(turns, system))
        except BadConversation as error:
            bad[str(error)] += 1
