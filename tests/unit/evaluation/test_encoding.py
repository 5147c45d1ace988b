"""Tokens from the cache and tokens without a model: those that lm-eval's own HFLM passes to its model."""

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.watched import AWKWARD, draw_pairs, make_watched_model
from workflow_scripts.evaluation.encoding import CachedHFLM, Encoder


@pytest.fixture(params=FAMILIES)
def tokenizer(request):
    return tokenizer_like(request.param)


@pytest.fixture
def encoder(tokenizer):
    return Encoder(tokenizer, make_tiny_model("qwen2", len(tokenizer)).config)


def draw_answers(tokenizer):
    """Draw pairs that do not end in spaces or a start token."""
    return [*((context, f"{end}x") for context, end in draw_pairs(tokenizer)[::6]), *AWKWARD]


def build_requests(pairs):
    return [Instance("loglikelihood", {}, pair, 0) for pair in pairs]


def test_tokens_equal_hflm(tokenizer):
    pairs = draw_pairs(tokenizer)
    expected, cached = (make_watched_model(tokenizer, kind) for kind in (HFLM, CachedHFLM))
    for lm in (expected, cached):
        lm.loglikelihood(build_requests(pairs), disable_tqdm=True)
    assert cached.noted == expected.noted
    contexts = [context + "?" for context, _ in pairs]
    assert cached.encode_contexts(contexts, 9) == [
        HFLM.tok_batch_encode(cached, [text], left_truncate_len=9)[0][0].tolist()
        for text in contexts
    ]


def test_cached_hflm_encodes_once(tokenizer, monkeypatch):
    lm = make_watched_model(tokenizer, CachedHFLM)
    lengths = []
    method = type(lm.tokenizer).__call__

    def record(self, texts, **options):
        lengths.extend(map(len, texts))
        return method(self, texts, **options)

    monkeypatch.setattr(type(lm.tokenizer), "__call__", record)
    examples = "The fox sees the dog, and the dog sees the fox.\nAnswer: A\n\n" * 9
    contexts = [f"{examples}Question {i} about the fox\nAnswer:" for i in range(50)]
    lm.loglikelihood(build_requests([(c, f" {letter}") for c in contexts for letter in "ABCD"]))
    if lm.tokenizer_cache.splits:
        assert sum(lengths) < len(examples) + 50 * 5 * 60
    else:
        assert len([length for length in lengths if length > len(examples)]) == 5 * 50


def test_encoder_tokens_equal_hflm(tokenizer, encoder):
    pairs, hflm = draw_answers(tokenizer), make_watched_model(tokenizer)
    hflm.loglikelihood(build_requests(pairs), True)
    expected = [tuple(list(part) for part in hflm.scored[pair]) for pair in pairs]
    assert encoder.encoded("multiple_choice", pairs) == expected
    for prompt, answer in pairs:
        if prompt:
            settings = {"until": ["?"], "max_gen_toks": 4}
            hflm.generate_until([Instance("generate_until", {}, (prompt, settings), 0)], True)
            ((head, tail),) = encoder.encoded("generate_until", [(prompt, answer)])
            assert head == hflm.generated_from[-1]
            whole = tokenizer.decode([*head, *tail]).replace(" ", "")
            assert whole.endswith((prompt + answer).strip().replace(" ", "")[-6:])


def test_encoder_single_start_token(tokenizer, encoder):
    start, number = tokenizer.bos_token, tokenizer.bos_token_id
    if start is None:
        return
    for kind in ("multiple_choice", "generate_until"):
        for prompt in ("What?", f"{start}What?"):
            ((head, tail),) = encoder.encoded(kind, [(prompt, " The fox")])
            assert [*head, *tail].count(number) == 1 and head[0] == number
    ((head, _),) = encoder.encoded("loglikelihood_rolling", [("", "The fox sees")])
    assert head == [number]
