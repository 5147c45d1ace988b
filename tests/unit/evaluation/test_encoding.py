"""Tokens without a model: those that lm-eval's own HFLM puts to one."""

import pytest
from lm_eval.api.instance import Instance

from tests.tiny_models import tiny_model
from tests.tiny_tokenizers import FAMILIES, WITH_START, tokenizer_like
from tests.unit.watched import AWKWARD, drawn_pairs, watched
from workflow_scripts.evaluation.encoding import Encoder


@pytest.fixture(params=FAMILIES)
def tokenizer(request):
    return tokenizer_like(request.param)


@pytest.fixture
def encoder(tokenizer):
    return Encoder(tokenizer, tiny_model("qwen2", len(tokenizer)).config)


def some_pairs(tokenizer):
    """Which do not end in spaces or a start token."""
    return [*((context, f"{end}x") for context, end in drawn_pairs(tokenizer)[::6]), *AWKWARD]


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
