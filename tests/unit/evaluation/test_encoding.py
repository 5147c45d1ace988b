"""Tokens from the cache and tokens without a model: those that lm-eval's own HFLM puts to one."""

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from tests.tiny_models import tiny_model
from tests.tiny_tokenizers import FAMILIES, WITH_START, tokenizer_like
from tests.unit.watched import AWKWARD, drawn_pairs, watched
from workflow_scripts.evaluation.encoding import CachedHFLM, Encoder


@pytest.fixture(params=FAMILIES)
def tokenizer(request):
    return tokenizer_like(request.param)


@pytest.fixture
def encoder(tokenizer):
    return Encoder(tokenizer, tiny_model("qwen2", len(tokenizer)).config)


def some_pairs(tokenizer):
    """Which do not end in spaces or a start token."""
    return [*((context, f"{end}x") for context, end in drawn_pairs(tokenizer)[::6]), *AWKWARD]


def test_every_token_is_lm_evals(tokenizer):
    pairs = drawn_pairs(tokenizer)
    instances = [Instance("loglikelihood", {}, pair, 0) for pair in pairs]
    expected, cached = (watched(tokenizer, kind) for kind in (HFLM, CachedHFLM))
    for lm in (expected, cached):
        lm.loglikelihood(instances, disable_tqdm=True)
    assert cached.noted == expected.noted
    contexts = [context + "?" for context, _ in pairs]
    assert cached.encode_contexts(contexts, 9) == [
        HFLM.tok_batch_encode(cached, [text], left_truncate_len=9)[0][0].tolist()
        for text in contexts
    ]


def test_no_text_is_encoded_twice(tokenizer, monkeypatch):
    lm = watched(tokenizer, CachedHFLM)
    encoded = []
    for name in ("__call__", "encode"):
        method = getattr(type(lm.tokenizer), name)

        def record(self, text, method=method, **options):
            encoded.extend([text] if isinstance(text, str) else text)
            return method(self, text, **options)

        monkeypatch.setattr(type(lm.tokenizer), name, record)
    examples = "The fox sees the dog, and the dog sees the fox.\nAnswer: A\n\n" * 9
    contexts = [f"{examples}Question {i} about the fox\nAnswer:" for i in range(50)]
    pairs = [(context, f" {letter}") for context in contexts for letter in "ABCD"]
    lm.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], True)
    if lm.tokenizer_cache.splits:
        assert sum(map(len, encoded)) < len(examples) + 50 * 5 * 60
    else:
        assert len([text for text in encoded if len(text) > len(examples)]) == 5 * 50


def test_a_scored_pair_has_the_tokens_of_hflm(tokenizer, encoder):
    pairs, real = some_pairs(tokenizer), watched(tokenizer)
    real.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], True)
    expected = [tuple(list(part) for part in real.scored[pair]) for pair in pairs]
    assert encoder.encoded("multiple_choice", pairs) == expected


def test_a_generated_answer_stands_behind_the_prompt_that_hflm_generates_from(tokenizer, encoder):
    real = watched(tokenizer)
    for prompt, answer in some_pairs(tokenizer):
        if not prompt:
            continue
        asked = Instance("generate_until", {}, (prompt, {"until": ["?"], "max_gen_toks": 4}), 0)
        real.generate_until([asked], True)
        ((head, tail),) = encoder.encoded("generate_until", [(prompt, answer)])
        assert head == real.generated_from[-1]
        whole = tokenizer.decode([*head, *tail]).replace(" ", "")
        assert whole.endswith((prompt + answer).strip().replace(" ", "")[-6:])


@pytest.mark.parametrize("family", WITH_START)
def test_a_text_that_begins_with_the_start_token_gets_no_second_one(family):
    tokenizer = tokenizer_like(family)
    start = tokenizer.bos_token
    encoder = Encoder(tokenizer, tiny_model("qwen2", len(tokenizer)).config)
    for kind in ("multiple_choice", "generate_until"):
        for prompt in ("What?", f"{start}What?"):
            ((head, tail),) = encoder.encoded(kind, [(prompt, " The fox")])
            assert [*head, *tail].count(tokenizer.bos_token_id) == 1
            assert head[0] == tokenizer.bos_token_id
    ((head, _),) = encoder.encoded("loglikelihood_rolling", [("", "The fox sees")])
    assert head == [tokenizer.bos_token_id]
