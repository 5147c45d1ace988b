"""Which token is next: all rows of a step at once, and each as if it were alone."""

import random

import pytest
import torch

from tests.tiny_models import VOCABULARY, tiny_model
from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.evaluation.drawn import Requests, fresh_seed
from workflow_scripts.evaluation.prefix import choosing
from workflow_scripts.evaluation.prefix.choosing import GenerationRules, StopStrings, choose

OPTIONS = {
    "penalty": {"do_sample": False, "repetition_penalty": 1.3, "no_repeat_ngram_size": 3},
    "sampled": {"do_sample": True, "temperature": 1.4},
    "sampled from some": {
        "do_sample": True, "temperature": 2.0, "top_k": 60, "top_p": 0.9, "repetition_penalty": 1.2,
    },
}  # fmt: skip
STEPS, ROWS = 6, 5


def one_by_one(rules: GenerationRules, context: list[int], seed: int, logits) -> list[int]:
    """One row's tokens, each looked at before the next thing is done."""
    ids, processors = torch.tensor([context]), rules.chooser(context, 0).processors
    generator = torch.Generator().manual_seed(seed)
    for of_step in logits:
        scores = processors(ids, of_step.float()[None])
        token = (
            torch.multinomial(scores[0].softmax(-1), 1, generator=generator)
            if rules.samples
            else scores.argmax(-1)
        )
        ids = torch.cat([ids, token[None]], dim=1)
    return ids[0, len(context) :].tolist()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("at_once", [2, 32])
def test_rows_choose_together_what_each_chooses_alone(options, dtype, at_once, monkeypatch):
    monkeypatch.setattr(choosing, "rows_at_once", lambda device: at_once)
    rules = GenerationRules(tiny_model("qwen2"), options)
    seed = fresh_seed()
    requests = Requests(seed)
    contexts = [requests.tokens(1, 30) for _ in range(ROWS)]
    torch.manual_seed(seed)
    logits = (3 * torch.randn(STEPS, ROWS, VOCABULARY)).to(dtype)
    choosers = [rules.chooser(context, seed + at) for at, context in enumerate(contexts)]
    kept = logits.clone()
    found = [choose(choosers, of_step) for of_step in logits]
    for at, context in enumerate(contexts):
        expected = one_by_one(rules, context, seed + at, kept[:, at])
        assert [tokens[at] for tokens in found] == expected
        assert choosers[at].ids.tolist() == [[*context, *expected]]
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
