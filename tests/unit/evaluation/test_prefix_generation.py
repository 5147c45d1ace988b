"""Compare the engine's generation with transformers' generate on each prompt alone."""

import pytest
import torch

from tests.tiny_models import VOCABULARY, make_tiny_model
from tests.unit.evaluation.random_requests import RandomRequests, fresh_seed, generate_alone
from workflow_scripts.evaluation.prefix.answer import Answer, GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import GenerationRules

NEW = 6
KINDS = ("gpt2", "gpt_neox", "qwen2", "some_windowed", "gemma2", "fused", "peft", "pruned")
SAMPLED = {
    "do_sample": True, "temperature": 2.0, "top_k": 60, "top_p": 0.9, "repetition_penalty": 1.2,
}  # fmt: skip


def make_model(kind: str):
    """Make a model without an EOS token, so that answers have maximal length."""
    model = make_tiny_model(kind, window=128, initializer_range=0.3)
    model.generation_config.eos_token_id = None
    return model


def make_contexts(seed: int) -> list[list[int]]:
    """Draw two families of six contexts, a family of four, three single contexts, and a repeat."""
    requests = RandomRequests(seed)
    contexts = requests.draw_contexts(2, 6)
    start = requests.draw_tokens(40)
    contexts += [start, *([*start, *requests.draw_tokens(1, 5)] for _ in range(3))]
    return [
        *contexts,
        requests.draw_tokens(1),
        requests.draw_tokens(2, 40),
        requests.draw_tokens(60),
        contexts[0],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_equals_generate(kind):
    model = make_model(kind)
    contexts = make_contexts(fresh_seed())
    requests = [GenerationRequest(context, NEW) for context in contexts]
    # For a pruned model, transformers sizes its cache by the config's number of layers.
    settings = {"max_new_tokens": NEW, "use_cache": kind != "pruned"}
    options = {"repetition_penalty": 1.3 if kind == "qwen2" else 1.0}
    expected = [generate_alone(model, context, **settings, **options) for context in contexts]
    for rows in (64, 5):
        engine = PrefixEngine(model)
        engine.max_answers = rows
        assert engine.generate(requests, {"do_sample": False} | options) == expected, rows


def test_samples_equal_plain_loop():
    rules = GenerationRules(make_tiny_model("qwen2"), SAMPLED)
    seed = fresh_seed()
    context = RandomRequests(seed).draw_tokens(1, 30)
    torch.manual_seed(seed)
    logits = (3 * torch.randn(NEW, VOCABULARY)).to(torch.bfloat16)
    answer = Answer(0, GenerationRequest(context, NEW, seed=seed), rules, {})
    ids = torch.tensor([context])
    generator = torch.Generator().manual_seed(seed)
    for row in logits:
        weights = rules.build_processors(context)(ids, row.float()[None])[0].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(weights, 1, generator=generator)[None]], dim=1)
        answer.add_next(row, -1)
    assert ids.tolist() == [answer.all_tokens]
