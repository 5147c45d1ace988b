"""Each distinct string is tokenised once, and every token is the one that lm-eval makes of it."""

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.watched import drawn_pairs, watched
from workflow_scripts.evaluation import encode_once
from workflow_scripts.evaluation.encode_once import EncodeOnce
from workflow_scripts.evaluation.shared_text import encodes_words_alone


def loglikelihood(lm, pairs) -> list:
    lm.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], disable_tqdm=True)
    return lm.noted


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("together", [1, 7, 1_024])
def test_every_token_is_lm_eval_s_own(family, together, monkeypatch):
    monkeypatch.setattr(encode_once, "_TOGETHER", together)
    tokenizer = tokenizer_like(family)
    pairs = drawn_pairs(tokenizer)
    expected, found = (watched(tokenizer, kind) for kind in (HFLM, EncodeOnce))
    assert loglikelihood(found, pairs) == loglikelihood(expected, pairs)


@pytest.mark.parametrize("family", FAMILIES)
def test_contexts_to_generate_from_are_lm_eval_s_own(family):
    tokenizer = tokenizer_like(family)
    contexts = [context + "?" for context, _ in drawn_pairs(tokenizer)]
    lm = watched(tokenizer, EncodeOnce)
    expected = [
        HFLM.tok_batch_encode(lm, [text], left_truncate_len=9)[0][0].tolist() for text in contexts
    ]
    assert lm.contexts(contexts, 9) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_tokenised_twice(family, monkeypatch):
    """Strings as a whole, and where the tokenizer can be given parts, what they share."""
    lm = watched(tokenizer_like(family), EncodeOnce)
    given = []
    call = type(lm.tokenizer).__call__

    def calling(self, strings, **options):
        given.extend(strings)
        return call(self, strings, **options)

    def encoding(self, string, **options):
        raise AssertionError(f"{string!r} was tokenised by itself")

    monkeypatch.setattr(type(lm.tokenizer), "__call__", calling)
    monkeypatch.setattr(type(lm.tokenizer), "encode", encoding)
    examples = "The fox sees the dog, and the dog sees the fox.\nAnswer: A\n\n" * 9
    contexts = [f"{examples}Question {at} about the fox\nAnswer:" for at in range(50)]
    loglikelihood(lm, [(context, f" {letter}") for context in contexts for letter in "ABCD"])
    given = [text for text in given if text != "a"]  # asked for what stands around a text
    assert len(set(given)) == len(given)
    if encodes_words_alone(lm.tokenizer):
        assert sum(map(len, given)) < len(examples) + 50 * 5 * 60
    else:
        asked = {
            context + letter for context in contexts for letter in ("", " A", " B", " C", " D")
        }
        assert set(given) == asked
