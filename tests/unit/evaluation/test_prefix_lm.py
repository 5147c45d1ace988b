"""PrefixLM beside lm-eval's own HFLM: the same answers to every kind of request, one by one."""

import random

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import AutoTokenizer

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WithoutCache, fresh_seed
from workflow_scripts.evaluation.prefix_lm import PrefixLM

KINDS = ("qwen2", "gpt_neox", "peft")
WINDOW = 96


@pytest.fixture(scope="session")
def tokenizer(model_manifest):
    return AutoTokenizer.from_pretrained(model_manifest.parent)


@pytest.fixture(scope="session", params=KINDS)
def pair(request, tokenizer):
    return harness_and_engine(tiny_model(request.param, len(tokenizer), window=WINDOW), tokenizer)


def harness_and_engine(model, tokenizer, **options):
    common = {"pretrained": model, "tokenizer": tokenizer, "batch_size": 4, "max_length": WINDOW}
    return HFLM(**common), PrefixLM(**common, **options)


class Texts:
    """Words of the tokenizer, put together at random; none that ends a text by itself."""

    def __init__(self, tokenizer, seed: int):
        self._rng = random.Random(seed)
        pieces = (tokenizer.decode([at], skip_special_tokens=True) for at in range(len(tokenizer)))
        self._words = [word for piece in pieces if (word := piece.strip())]
        self.end = tokenizer.eos_token

    def words(self, least: int, most: int) -> str:
        return " ".join(self._rng.choices(self._words, k=self._rng.randint(least, most)))

    def questions(self, count: int = 6) -> list[str]:
        examples = self.words(20, 25)
        return [f"{examples}\nQuestion: {self.words(3, 9)}\nAnswer:" for _ in range(count)]


@pytest.fixture
def texts(tokenizer):
    return Texts(tokenizer, fresh_seed())


def instances(kind: str, arguments: list[tuple]) -> list[Instance]:
    return [Instance(kind, doc={}, arguments=one, idx=at) for at, one in enumerate(arguments)]


def assert_same_scores(pair, arguments: list[tuple[str, str]]) -> None:
    expected, found = (
        lm.loglikelihood(instances("loglikelihood", arguments), disable_tqdm=True) for lm in pair
    )
    assert [value for value, _ in found] == pytest.approx([v for v, _ in expected], abs=1e-4)
    assert [greedy for _, greedy in found] == [greedy for _, greedy in expected]


def longer_than_the_window(texts):
    long = texts.words(WINDOW, WINDOW + 20)
    yield from ((f"{long} {texts.words(1, 5)}", " " + texts.words(2, 5)) for _ in range(5))


def empty_contexts_and_trailing_spaces(texts):
    yield from (("", texts.words(2, 6)) for _ in range(5))
    yield "", texts.end + " " + texts.words(2, 3)
    yield from ((texts.words(3, 5) + "  ", texts.words(1, 3)) for _ in range(5))


PAIRS = {
    "letters": lambda texts: ((q, f" {one}") for q in texts.questions() for one in "ABCD"),
    "endings": lambda texts: ((q, " " + texts.words(1, 6)) for q in texts.questions(24)),
    "long": longer_than_the_window,
    "empty contexts": empty_contexts_and_trailing_spaces,
}


@pytest.mark.parametrize("kind", PAIRS)
def test_scores_are_those_of_hflm(pair, texts, kind):
    arguments = [*PAIRS[kind](texts)]
    assert_same_scores(pair, arguments)


def test_a_tokenizer_that_merges_across_the_end_of_the_context(pair, tokenizer, texts):
    rng = random.Random(fresh_seed())
    arguments, merged = [], 0
    for _ in range(60):
        text = texts.words(6, 12)
        cut = rng.randrange(1, len(text) - 1)
        context, continuation = text[:cut], text[cut:]
        if not continuation.strip() or not context.strip():
            continue
        alone, whole = tokenizer.encode(context), tokenizer.encode(text)
        if len(whole) > len(alone):  # else HFLM itself has nothing to score
            merged += whole[: len(alone)] != alone
            arguments.append((context, continuation))
    assert merged, "none of the cuts was inside a token"
    assert_same_scores(pair, arguments)


def test_rolling(pair, texts):
    arguments = [(texts.words(2, 5 * at + 3),) for at in range(1, 20, 3)]
    arguments += [(texts.words(WINDOW, 3 * WINDOW),), (texts.words(1, 1),)]
    expected, found = (
        lm.loglikelihood_rolling(instances("loglikelihood_rolling", arguments), disable_tqdm=True)
        for lm in pair
    )
    # HFLM adds up in float32, so that its own sums of hundreds of tokens are no better.
    assert found == pytest.approx(expected, abs=1e-4, rel=1e-6)


def test_generation_with_stop_strings(pair, texts):
    settings = {"until": ["\n", ".", " th", "e"], "max_gen_toks": 12, "do_sample": False}
    long = texts.words(WINDOW, WINDOW + 20)
    arguments = [(q, settings) for q in [*texts.questions(8), long, texts.words(1, 2)]]
    arguments += [(q, {"until": [], "max_gen_toks": 8}) for q, _ in arguments[:4]]
    expected, found = (
        lm.generate_until(instances("generate_until", arguments), disable_tqdm=True) for lm in pair
    )
    assert found == expected
    assert len(set(found)) > 3
    assert pair[1].engine_used == "prefix sharing"


def test_seeded_draws_do_not_depend_on_order_and_repeats_differ(tokenizer, texts):
    _, prefix = harness_and_engine(tiny_model("llama", len(tokenizer), WINDOW), tokenizer)
    settings = {"until": [], "max_gen_toks": 12, "do_sample": True, "temperature": 1.0}
    arguments = [(q, settings) for q in texts.questions(4)]

    def ask(arguments):
        return prefix.generate_until(instances("generate_until", arguments), disable_tqdm=True)

    expected = ask(arguments)
    assert ask(arguments[::-1])[::-1] == expected
    assert len(set(ask([arguments[0]] * 5))) > 1


def test_beam_search_is_left_to_transformers_and_said(tokenizer, texts):
    pair = harness_and_engine(tiny_model("qwen2", len(tokenizer), WINDOW), tokenizer)
    arguments = [
        (q, {"until": ["\n"], "max_gen_toks": 6, "num_beams": 2}) for q in texts.questions(3)
    ]
    expected, found = (
        lm.generate_until(instances("generate_until", arguments), disable_tqdm=True) for lm in pair
    )
    assert found == expected
    assert "beam_search" in pair[1].engine_used


def test_a_model_without_a_cache_is_scored_in_hflm_s_own_batches(tokenizer, model_manifest, texts):
    model = WithoutCache(len(tokenizer))
    pair = harness_and_engine(model, tokenizer)
    assert_same_scores(pair, [(q, f" {letter}") for q in texts.questions(3) for letter in "AB"])
    rolling = instances("loglikelihood_rolling", [(texts.words(20, 40),)])
    assert pair[0].loglikelihood_rolling(rolling) == pytest.approx(
        pair[1].loglikelihood_rolling(rolling)
    )
    assert pair[1].engine_used.startswith("plain batches: ")


def test_virtual_tokens_are_left_to_hflm(tokenizer, texts):
    """Prompt tuning puts tokens of its own before the first, which no trie knows of."""
    from peft import PromptTuningConfig, get_peft_model

    tuning = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(tiny_model("qwen2", len(tokenizer)), tuning).eval()
    pair = harness_and_engine(model, tokenizer)
    assert_same_scores(pair, [(q, f" {letter}") for q in texts.questions(3) for letter in "AB"])
    assert pair[1].engine_used.startswith("plain batches: ")
