"""From rows to samples: text in blocks, conversations, and a prompt with its completion."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.start_token import start_of
from workflow_scripts.training.chat import (
    COLUMNS,
    BadConversation,
    messages_of,
    rendered,
    with_system,
)
from workflow_scripts.training.rows import FoundRow
from workflow_scripts.training.samples import Sample, SampleSink

T = TypeVar("T")
_TOGETHER = 256  # rows that the tokenizer is given at once


def write_text_blocks(
    writer: SampleSink,
    tokenizer,
    rows: Iterable[FoundRow],
    *,
    column: str | None,
    length: int,
    each_row_ends: bool,
    most: int | None,
) -> None:
    """Running text in blocks of `length` tokens, all of them counted; the last block is what is left.

    With `each_row_ends` every row is a document and the tokenizer's end of text stands behind it.
    Where the tokenizer puts a start token in front of a text, each document and each block has it.
    """
    start, end = np.array(start_of(tokenizer), np.int32), tokenizer.eos_token_id
    if each_row_ends and end is None:
        raise UserError("The tokenizer has no end of text to put behind each row's document.")
    waiting, before = np.empty(0, np.int32), False
    for texts in batches(_texts(writer, rows, column or "text", each_row_ends), _TOGETHER):
        if each_row_ends:
            encoded = [[*start, *ids, end] for ids in _encoded(tokenizer, texts)]
        else:
            encoded = _going_on(tokenizer, texts, before)
            before = True
        waiting = np.concatenate([waiting, *(np.array(ids, np.int32) for ids in encoded)])
        at = 0
        while len(waiting) - at >= length:
            if writer.samples == most:
                return
            lead = _lead(start, waiting[at:])
            _add_all_counted(writer, np.concatenate([lead, waiting[at : at + length - len(lead)]]))
            at += length - len(lead)
        waiting = waiting[at:]
    if len(waiting) and writer.samples != most:
        left = np.concatenate([_lead(start, waiting), waiting])
        if len(left) == 1:  # nothing stands before it that could predict it
            writer.bad.add("one token left over", "the end of the text")
        else:
            _add_all_counted(writer, left)


def write_conversations(
    writer: SampleSink,
    tokenizer,
    rows: Iterable[FoundRow],
    *,
    column: str | None,
    length: int,
    most: int | None,
    system: str | None = None,
) -> None:
    """One conversation a sample; the assistant's turns count. A longer one is cut, and counted as such.

    `system` is the system message of those that have none.
    """
    if tokenizer.chat_template is None:
        raise UserError(
            "The tokenizer has no chat template, which training on conversations needs."
        )
    for batch in batches(_conversations(writer, tokenizer, rows, column, system), _TOGETHER):
        encoded = tokenizer(
            [text for _, text, _ in batch],
            add_special_tokens=False,  # the template wrote them
            return_offsets_mapping=True,
            verbose=False,
        )
        for (where, _, spans), ids, offsets in zip(
            batch, encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            if writer.samples == most:
                return
            sample = Sample(np.array(ids, np.int32), counted_tokens(offsets, spans))
            _add_cut(writer, sample, length, where)


def write_pair(
    writer: SampleSink,
    where: str,
    prompt: list[int],
    completion: list[int],
    *,
    length: int,
    counted: Literal["all", "completion"],
) -> None:
    """A prompt and what is to be said behind it, as tokens; `counted` is the whole or the latter."""
    tokens = np.array([*prompt, *completion], np.int32)
    marks = np.arange(len(tokens)) >= (max(len(prompt), 1) if counted == "completion" else 1)
    _add_cut(writer, Sample(tokens, marks), length, where)


def counted_tokens(offsets: list[tuple[int, int]], spans: list[tuple[int, int]]) -> np.ndarray:
    """A token counts when some of it lies in a span; the first of a sample is never predicted.

    Where a header ends in a space, the first word said is one token with it.
    """
    begins, ends = np.array(offsets).reshape(-1, 2).T
    marks = np.zeros(len(offsets), bool)
    for start, end in spans:
        marks |= (ends > start) & (begins < end)
    marks[:1] = False
    return marks


def _lead(start: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The start token, unless a document begins there and has it already."""
    return start[:0] if np.array_equal(tokens[: len(start)], start) else start


def _encoded(tokenizer, texts: list[str]) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]


def _going_on(tokenizer, texts: list[str], before: bool) -> list[list[int]]:
    """The pieces of one text, of which only the first is its beginning, and that not if any are `before`.

    Some tokenizers (Llama 2's) put a space in front of what they take for a beginning: behind a line
    break it is none, unless the two would be one token.
    """
    border, *behind = _encoded(tokenizer, ["\n", *("\n" + text for text in texts)])
    alone = _encoded(tokenizer, texts)
    return [
        ids[len(border) :] if (at or before) and ids[: len(border)] == border else plain
        for at, (ids, plain) in enumerate(zip(behind, alone, strict=True))
    ]


def _add_all_counted(writer: SampleSink, tokens: np.ndarray) -> None:
    marks = np.ones(len(tokens), bool)
    marks[0] = False
    writer.add(Sample(tokens, marks))


def _add_cut(writer: SampleSink, sample: Sample, length: int, where: str) -> None:
    if len(sample.tokens) > length:
        writer.bad.add("too long, cut", where)
        sample = sample.cut(length)
    if not sample.counted.any():
        writer.bad.add("nothing left that counts", where)
        return
    writer.add(sample)


def _whole(writer: SampleSink, rows: Iterable[FoundRow]) -> Iterator[tuple[str, dict[str, Any]]]:
    for where, row in rows:
        if row is None:
            writer.bad.add("not a row", where)
        else:
            yield where, row


def _texts(
    writer: SampleSink, rows: Iterable[FoundRow], column: str, documents: bool
) -> Iterator[str]:
    for where, row in _whole(writer, rows):
        text = row.get(column)
        if not isinstance(text, str):
            writer.bad.add("not text", where)
        elif documents and not text.strip():  # between the lines of one text it is a blank line
            writer.bad.add("empty", where)
        else:
            yield text


def _conversations(
    writer: SampleSink,
    tokenizer,
    rows: Iterable[FoundRow],
    column: str | None,
    system: str | None,
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    for where, row in _whole(writer, rows):
        turns = next((row[name] for name in ([column] if column else COLUMNS) if name in row), None)
        try:
            text, spans = rendered(tokenizer, with_system(messages_of(turns), system))
        except BadConversation as error:
            writer.bad.add(str(error), where)
            continue
        yield where, text, spans


def batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """The rows, so many at a time."""
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch
