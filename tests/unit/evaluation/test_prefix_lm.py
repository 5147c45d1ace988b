"""PrefixLM beside lm-eval's own HFLM: the same answers to every kind of request, one by one."""

import random

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import AutoTokenizer

from tests.tiny_models import make_tiny_model
from tests.unit.evaluation.drawn import CachelessModel, fresh_seed
from workflow_scripts.evaluation.prefix_lm import PrefixLM

KINDS = ("qwen2", "gpt_neox", "peft")
WINDOW = 96


@pytest.fixture(scope="session")
def tokenizer(model_manifest):
    return AutoTokenizer.from_pretrained(model_manifest.parent)


@pytest.fixture(scope="session", params=KINDS)
def pair(request, tokenizer):
    return make_pair(make_tiny_model(request.param, len(tokenizer), window=WINDOW), tokenizer)


def make_pair(model, tokenizer):
    common = {"pretrained": model, "tokenizer": tokenizer, "batch_size": 4, "max_length": WINDOW}
    return HFLM(**common), PrefixLM(**common)


class Texts:
    """Words of the tokenizer, put together at random; none that ends a text by itself."""

    def __init__(self, tokenizer, seed: int):
        self._rng = random.Random(seed)
        pieces = (
            tokenizer.decode([index], skip_special_tokens=True) for index in range(len(tokenizer))
        )
        self._words = [word for piece in pieces if (word := piece.strip())]
        self.end = tokenizer.eos_token

    def draw_words(self, least: int, most: int) -> str:
        return " ".join(self._rng.choices(self._words, k=self._rng.randint(least, most)))

    def draw_questions(self, count: int = 6) -> list[str]:
        examples = self.draw_words(20, 25)
        return [f"{examples}\nQuestion: {self.draw_words(3, 9)}\nAnswer:" for _ in range(count)]

    def draw_pairs(self):
        """Draw letters, endings, contexts longer than the window, empty ones, and spaces at their ends."""
        questions = self.draw_questions()
        yield from ((question, f" {letter}") for question in questions for letter in "ABCD")
        yield from ((question, " " + self.draw_words(1, 6)) for question in questions)
        long = self.draw_words(WINDOW, WINDOW + 20)
        yield from (
            (f"{long} {self.draw_words(1, 5)}", " " + self.draw_words(2, 5)) for _ in range(3)
        )
        yield from (("", self.draw_words(2, 6)) for _ in range(3))
        yield "", self.end + " " + self.draw_words(2, 3)
        yield from ((self.draw_words(3, 5) + "  ", self.draw_words(1, 3)) for _ in range(3))


@pytest.fixture
def texts(tokenizer):
    return Texts(tokenizer, fresh_seed())


def ask_both(pair, kind: str, arguments: list[tuple]) -> list:
    requests = [
        Instance(kind, doc={}, arguments=args, idx=index) for index, args in enumerate(arguments)
    ]
    return [getattr(lm, kind)(requests, disable_tqdm=True) for lm in pair]


def assert_same_scores(pair, arguments: list[tuple[str, str]]) -> None:
    expected, scores = ask_both(pair, "loglikelihood", arguments)
    assert [value for value, _ in scores] == pytest.approx([v for v, _ in expected], abs=1e-4)
    assert [greedy for _, greedy in scores] == [greedy for _, greedy in expected]


def test_scores_equal_hflm(pair, texts):
    assert_same_scores(pair, [*texts.draw_pairs()])


def test_rolling(pair, texts):
    lengths = [*range(3, 100, 15), 3 * WINDOW, 1]
    arguments = [(texts.draw_words(1, length),) for length in lengths]
    expected, scores = ask_both(pair, "loglikelihood_rolling", arguments)
    # HFLM adds up in float32, so that its own sums of hundreds of tokens are no better.
    assert scores == pytest.approx(expected, abs=1e-4, rel=1e-6)


def test_generation_with_stop_strings(pair, texts):
    settings = {"until": ["\n", ".", " th", "e"], "max_gen_toks": 12, "do_sample": False}
    long = texts.draw_words(WINDOW, WINDOW + 20)
    arguments = [(q, settings) for q in [*texts.draw_questions(8), long, texts.draw_words(1, 2)]]
    arguments += [(q, {"until": [], "max_gen_toks": 8}) for q, _ in arguments[:4]]
    expected, answers = ask_both(pair, "generate_until", arguments)
    assert answers == expected and len(set(answers)) > 3
    assert pair[1].engine_used == "prefix sharing"


def test_samples_ignore_request_order(tokenizer, texts):
    _, lm = make_pair(make_tiny_model("llama", len(tokenizer), WINDOW), tokenizer)
    settings = {"until": [], "max_gen_toks": 12, "do_sample": True, "temperature": 1.0}
    arguments = [(q, settings) for q in texts.draw_questions(4)]
    (expected,) = ask_both([lm], "generate_until", arguments)
    assert ask_both([lm], "generate_until", arguments[::-1])[0][::-1] == expected
    assert len(set(*ask_both([lm], "generate_until", arguments[:1] * 5))) > 1


def test_beam_search_equals_hflm(tokenizer, texts):
    pair = make_pair(make_tiny_model("qwen2", len(tokenizer), WINDOW), tokenizer)
    settings = {"until": ["\n"], "max_gen_toks": 6, "num_beams": 2}
    expected, answers = ask_both(
        pair, "generate_until", [(q, settings) for q in texts.draw_questions(3)]
    )
    assert answers == expected
    assert "beam_search" in pair[1].engine_used and pair[1].tokens is None


def make_prompt_tuned(vocabulary: int):
    """Make a model with prompt tuning, whose own first tokens no trie holds."""
    from peft import PromptTuningConfig, get_peft_model

    tuning = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    return get_peft_model(make_tiny_model("qwen2", vocabulary), tuning).eval()


@pytest.mark.parametrize("make", [CachelessModel, make_prompt_tuned])
def test_unpacked_models_equal_hflm(tokenizer, texts, make):
    pair = make_pair(make(len(tokenizer)), tokenizer)
    assert_same_scores(
        pair, [(q, f" {letter}") for q in texts.draw_questions(3) for letter in "AB"]
    )
    assert pair[1].engine_used.startswith("plain batches: ")
