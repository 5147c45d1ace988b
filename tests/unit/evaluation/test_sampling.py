"""Which token is next, and whether an answer ends with it."""

import random

import pytest
import torch

from tests.tiny_models import VOCABULARY, tiny_model
from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.evaluation.drawn import Requests, fresh_seed
from workflow_scripts.evaluation.prefix.sampling import GenerationRules, StopStrings

OPTIONS = {
    "penalty": {"do_sample": False, "repetition_penalty": 1.3, "no_repeat_ngram_size": 3},
    "sampled": {"do_sample": True, "temperature": 1.4},
    "sampled from some": {
        "do_sample": True, "temperature": 2.0, "top_k": 60, "top_p": 0.9, "repetition_penalty": 1.2,
    },
}  # fmt: skip
STEPS = 6


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_choices_equal_a_plain_loop(options, dtype):
    rules = GenerationRules(tiny_model("qwen2"), options)
    seed = fresh_seed()
    context = Requests(seed).tokens(1, 30)
    torch.manual_seed(seed)
    logits = (3 * torch.randn(STEPS, VOCABULARY)).to(dtype)
    kept = logits.clone()
    sampler = rules.build_sampler(context, seed)
    tokens = [sampler.choose(row) for row in logits]
    ids = torch.tensor([context])
    generator = torch.Generator().manual_seed(seed)
    for row in kept:
        scores = sampler.processors(ids, row.float()[None])
        token = scores.argmax(-1)
        if rules.samples:
            token = torch.multinomial(scores[0].softmax(-1), 1, generator=generator)
        ids = torch.cat([ids, token[None]], dim=1)
    assert sampler.ids.tolist() == ids.tolist() == [[*context, *tokens]]
    assert torch.equal(logits, kept), "logits are somebody else's"


STRINGS = ("\n", "\n\n", "Q:", ".", ",", " ", "é", "fox", "日", "e ", "<s>", "</s>")


@pytest.mark.parametrize("family", FAMILIES)
def test_stop_strings_are_found_when_all_tokens_are_decoded_each_time(family):
    """Though most are not; with characters of several tokens, spaces and special tokens among them."""
    tokenizer, rng = tokenizer_like(family), random.Random(fresh_seed())
    text = "The fox sees é. Q: 日本 the Zoë\n\nQ: a, b ., \n e fox"
    usual = tokenizer.encode(text, add_special_tokens=False)
    every = range(len(tokenizer))
    stopped = 0
    for _ in range(150):
        strings = tuple(rng.sample(STRINGS, 3))
        stop = StopStrings(tokenizer, strings, 2)
        tokens: list[int] = []
        following = rng.randrange(len(usual))
        while len(tokens) < 25:  # stretches of text, and whatever a model may say between them
            following = (following + 1) % len(usual)
            if rng.random() < 0.2:
                following = rng.randrange(len(usual))
            tokens.append(usual[following] if rng.random() < 0.9 else rng.choice(every))
            found = any(
                string in tokenizer.decode(tokens[-length:])
                for string in strings
                for length in [len(tokenizer.encode(string, add_special_tokens=False)) + 2]
            )
            assert stop(tokens) == found, (tokens, strings)
            if found:
                stopped += 1
                break
    assert stopped > 20


def test_a_string_shows_once_the_part_of_a_character_before_it_is_out_of_sight():
    """Llama's tokenizer shows no byte of a row of which one is no text; later tokens push that one out."""
    tokenizer = tokenizer_like("llama_2")
    part, line, word = tokenizer.convert_tokens_to_ids(["<0xA8>", "<0x0A>", "▁fox"])
    stop = StopStrings(tokenizer, ("\n",), 1)
    said = [word, part, line, word, word]
    assert (
        len(tokenizer.encode("\n", add_special_tokens=False)) == 2
    )  # so the last three are looked at
    assert [stop(said[:end]) for end in range(1, 6)] == [False, False, False, False, True]
