"""Compare perplexity with plain arithmetic: each token counts once, for any windows and batches."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizers import FAMILIES, with_template
from workflow_scripts.evaluation.perplexity import (
    compute_perplexity_metrics,
    list_windows,
    score_instruction_responses,
    score_text,
)

TEXT = "The fox sees the dog, and the dog sees the fox. " * 9 + "One and two."


@given(st.integers(0, 300), st.integers(2, 40), st.data())
def test_windows_score_each_token_once(tokens, window, data):
    stride = data.draw(st.integers(1, window))
    spans = list(list_windows(tokens, window, stride))
    scored = [token for _, first, end in spans for token in range(first, end)]
    assert scored == list(range(1, tokens))
    for begin, first, end in spans:
        assert begin < first < end and end - begin <= window
    for _, first, end in spans[1:]:
        assert end - first <= stride


@torch.no_grad()
def compute_nats(model, ids: list[int], first: int) -> float:
    logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return -sum(float(logs[index - 1, ids[index]]) for index in range(first, len(ids)))


@pytest.mark.parametrize("family", FAMILIES)
def test_perplexity_equals_plain_arithmetic(family):
    """Windows and conversations keep their tokenizer's BOS token."""
    tokenizer = with_template(None, family)
    model = make_tiny_model("qwen2", len(tokenizer))
    start = [tokenizer.bos_token_id] * FAMILIES[family]
    whole = [*start, *tokenizer(TEXT, add_special_tokens=False)["input_ids"]]
    pieces = score_text(model, tokenizer, TEXT, window=16, stride=5)
    for piece, (begin, first, end) in zip(pieces, list_windows(len(whole), 16, 5), strict=True):
        row = [*start, *whole[begin + len(start) : end]]
        assert piece.nats == pytest.approx(compute_nats(model, row, first - begin), abs=1e-3)
        assert piece.tokens == end - first
    size = len(TEXT) - (0 if start else len(tokenizer.decode(whole[:1])))
    perplexity, bits_per_byte = compute_perplexity_metrics(pieces)
    nats = sum(piece.nats for piece in pieces)
    assert perplexity.value == pytest.approx(math.exp(nats / (len(whole) - 1)))
    assert bits_per_byte.value == pytest.approx(nats / math.log(2) / size)
    pair = ("the fox " * 30, "sees the dog")
    answer = tokenizer(pair[1], add_special_tokens=False)["input_ids"]
    prompt = tokenizer(pair[0] + "\n", add_special_tokens=False)["input_ids"]
    (piece,) = score_instruction_responses(model, tokenizer, [pair], window=120)
    row = [*start, *prompt, *answer]
    assert piece.nats == pytest.approx(compute_nats(model, row, len(row) - len(answer)), abs=1e-3)
    assert (piece.tokens, piece.bytes) == (len(answer), len(pair[1].encode()))
