"""From rows to samples: text in blocks, conversations, and prompts with completions."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.training.chat import COLUMNS, BadConversation, messages_of, rendered
from workflow_scripts.training.rows import Row
from workflow_scripts.training.samples import Sample, SampleSink

_TOGETHER = 256  # rows that the tokenizer is given at once


def write_text_blocks(
    writer: SampleSink,
    tokenizer,
    rows: Iterable[Row],
    *,
    column: str | None,
    length: int,
    each_row_ends: bool,
    most: int | None,
) -> None:
    """Running text in blocks of `length` tokens, all of them counted; the last block is what is left.

    With `each_row_ends` every row is a document and the tokenizer's end of text stands behind it.
    """
    end = tokenizer.eos_token_id
    if each_row_ends and end is None:
        raise UserError("The tokenizer has no end of text to put behind each row's document.")
    waiting = np.empty(0, np.int32)
    for texts in _batches(_texts(writer, rows, column or "text", each_row_ends), _TOGETHER):
        encoded = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        pieces = [np.array([*ids, end] if each_row_ends else ids, np.int32) for ids in encoded]
        waiting = np.concatenate([waiting, *pieces])
        whole = len(waiting) // length * length
        for start in range(0, whole, length):
            if writer.samples == most:
                return
            _add_all_counted(writer, waiting[start : start + length])
        waiting = waiting[whole:]
    if len(waiting) and writer.samples != most:
        if len(waiting) == 1:  # nothing stands before it that could predict it
            writer.bad.add("one token left over", "the end of the text")
        else:
            _add_all_counted(writer, waiting)


def write_conversations(
    writer: SampleSink,
    tokenizer,
    rows: Iterable[Row],
    *,
    column: str | None,
    length: int,
    most: int | None,
) -> None:
    """One conversation a sample; the assistant's turns count. A longer one is cut, and counted as such."""
    if tokenizer.chat_template is None:
        raise UserError(
            "The tokenizer has no chat template, which training on conversations needs."
        )
    for batch in _batches(_conversations(writer, tokenizer, rows, column), _TOGETHER):
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


def write_pairs(
    writer: SampleSink,
    tokenizer,
    pairs: Iterable[tuple[str, str, str]],
    *,
    length: int,
    counted: str,
    ends: bool = True,
) -> None:
    """(where, prompt, completion): tokenised as lm-eval does, so the prompt is the evaluator's.

    `counted` is all or completion. With `ends` the end of text stands behind the completion.
    """
    if counted not in ("all", "completion"):
        raise UserError(f"counted is {counted!r}; expected 'all' or 'completion'.")
    if ends and tokenizer.eos_token_id is None:
        raise UserError("The tokenizer has no end of text to put behind each completion.")
    for batch in _batches(_pairs(writer, pairs), _TOGETHER):
        # Spaces at the prompt's end belong to what is to be said, as in the harness.
        split = [(len(prompt.rstrip()), prompt + completion) for _, prompt, completion in batch]
        wholes = tokenizer([text for _, text in split], add_special_tokens=False, verbose=False)
        heads = tokenizer(
            [text[:at] for at, text in split], add_special_tokens=False, verbose=False
        )
        for (where, _, _), ids, head in zip(
            batch, wholes["input_ids"], heads["input_ids"], strict=True
        ):
            tokens = np.array([*ids, tokenizer.eos_token_id] if ends else ids, np.int32)
            marks = np.ones(len(tokens), bool)
            marks[: len(head) if counted == "completion" else 1] = False
            marks[:1] = False
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


def _whole(writer: SampleSink, rows: Iterable[Row]) -> Iterator[tuple[str, dict[str, Any]]]:
    for where, row in rows:
        if row is None:
            writer.bad.add("not a row", where)
        else:
            yield where, row


def _texts(writer: SampleSink, rows: Iterable[Row], column: str, documents: bool) -> Iterator[str]:
    for where, row in _whole(writer, rows):
        text = row.get(column)
        if not isinstance(text, str):
            writer.bad.add("not text", where)
        elif documents and not text.strip():  # between the lines of one text it is a blank line
            writer.bad.add("empty", where)
        else:
            yield text


def _conversations(
    writer: SampleSink, tokenizer, rows: Iterable[Row], column: str | None
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    for where, row in _whole(writer, rows):
        turns = next((row[name] for name in ([column] if column else COLUMNS) if name in row), None)
        try:
            text, spans = rendered(tokenizer, messages_of(turns))
        except BadConversation as error:
            writer.bad.add(str(error), where)
            continue
        yield where, text, spans


def _pairs(writer: SampleSink, pairs: Iterable[tuple[str, str, str]]):
    for where, prompt, completion in pairs:
        if not completion.strip():
            writer.bad.add("empty", where)
        else:
            yield where, prompt, completion


def _batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch
