"""Compare PrefixLM with lm-eval's HFLM on every kind of request."""

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizers import TEXT, tokenizer_like
from tests.unit.evaluation.random_requests import CachelessModel
from tests.unit.watched import AWKWARD, draw_pairs
from workflow_scripts.evaluation.prefix_lm import PrefixLM

WINDOW = 96
SHOTS = f"{TEXT[:70]}\nAnswer: yes\n\n"


def make_prompt_tuned(vocabulary: int):
    """Make a model with prompt tuning; its virtual tokens are not in the trie."""
    from peft import PromptTuningConfig, get_peft_model

    tuning = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    return get_peft_model(make_tiny_model("qwen2", vocabulary), tuning).eval()


def make_pair(model, tokenizer):
    common = {"pretrained": model, "tokenizer": tokenizer, "batch_size": 4, "max_length": WINDOW}
    return HFLM(**common), PrefixLM(**common)


@pytest.fixture(
    scope="module",
    params=[("qwen2", "qwen"), ("llama", "llama_3"), ("gpt_neox", "llama_2"), ("peft", "gemma")],
    ids=" ".join,
)
def pair(request):
    kind, family = request.param
    tokenizer = tokenizer_like(family)
    ends = {"eos_token_id": tokenizer.eos_token_id}  # HFLM ignores it
    return make_pair(make_tiny_model(kind, len(tokenizer), WINDOW, **ends), tokenizer)


@pytest.fixture
def texts(pair):
    """Draw texts alone, after shared examples, and after more examples than the window holds."""
    pairs = [(c, e) for c, e in draw_pairs(pair[0].tokenizer) if c.strip()]
    shots = [(start + context, end) for start in (SHOTS, 4 * SHOTS) for context, end in pairs[::9]]
    # HFLM refuses an ending that becomes part of the context's last token.
    drawn = [(c, e) for c, e in [*pairs[::3], *shots] if pair[0]._encode_pair(c, e)[1]]
    return [*drawn, *AWKWARD]


def ask_both(pair, kind: str, arguments: list[tuple]) -> list:
    requests = [Instance(kind, {}, args, index) for index, args in enumerate(arguments)]
    return [getattr(lm, kind)(requests, disable_tqdm=True) for lm in pair]


def assert_same_scores(pair, arguments: list[tuple[str, str]]) -> None:
    expected, scores = ask_both(pair, "loglikelihood", arguments)
    assert [value for value, _ in scores] == pytest.approx([v for v, _ in expected], abs=1e-4)
    assert [greedy for _, greedy in scores] == [greedy for _, greedy in expected]


def test_scores_equal_hflm(pair, texts):
    assert_same_scores(pair, texts)
    rolling = [(context + end,) for context, end in texts[-20:]]
    expected, scores = ask_both(pair, "loglikelihood_rolling", rolling)
    # HFLM sums in float32, so its sums over hundreds of tokens are no more precise.
    assert scores == pytest.approx(expected, abs=1e-4, rel=1e-6)


def test_generation_equals_hflm(pair, texts):
    until = ["\n", ".", " th", "日"]  # none of them in a special token
    settings = ({"until": until, "max_gen_toks": 12}, {"until": [], "max_gen_toks": 8})
    contexts = [context for context, _ in texts[::6] if context]
    arguments = [(context, some) for some in settings for context in contexts]
    # HFLM adds a BOS token to all texts of a batch or to none, and decodes all until the last has ended.
    pair[0].batch_size_per_gpu = 1
    expected, answers = ask_both(pair, "generate_until", arguments)
    assert answers == expected and len(set(answers)) > 3
    assert pair[1].engine_used == "prefix sharing"


@pytest.mark.parametrize("make", [CachelessModel, make_prompt_tuned])
def test_unpacked_models_equal_hflm(make):
    tokenizer = tokenizer_like("qwen")
    pair = make_pair(make(len(tokenizer)), tokenizer)
    assert_same_scores(pair, [(SHOTS, f" {letter}") for letter in "ABCD"])
    assert pair[1].engine_used.startswith("plain batches: ")
    assert pair[1].engine.tokens > 0


def test_beam_search_equals_hflm():
    tokenizer = tokenizer_like("qwen")
    pair = make_pair(make_tiny_model("qwen2", len(tokenizer), WINDOW), tokenizer)
    settings = {"until": ["\n"], "max_gen_toks": 6, "num_beams": 2}
    expected, answers = ask_both(pair, "generate_until", [(SHOTS, settings), (TEXT, settings)])
    assert answers == expected
    assert "beam_search" in pair[1].engine_used
