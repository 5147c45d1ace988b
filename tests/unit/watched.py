"""Wrap lm-eval's HFLM to record every token that would reach its weights."""

import random
from types import SimpleNamespace

import torch
from lm_eval.models.huggingface import HFLM

from tests.tiny_models import make_tiny_model
from tests.unit.evaluation.random_requests import fresh_seed

_PIECES = [
    "the",
    "fox",
    " fo",
    "x",
    "A",
    "B:",
    "é",
    "Zoë",
    "日本",
    "\n",
    "\n\n",
    "  ",
    " ",
    "\t",
    "1234",
    "?",
]
AWKWARD = [("", "The fox sees"), ("The fo", "x sees"), ("What?  \n", "The fox")]


def draw_pairs(tokenizer) -> list[tuple[str, str]]:
    """Draw random contexts with several continuations, including empty contexts, spaces and start tokens."""
    rng = random.Random(fresh_seed())
    start = tokenizer.bos_token or tokenizer.eos_token

    def draw_text(minimum: int) -> str:
        return "".join(rng.choices([*_PIECES, start], k=rng.randint(minimum, 12)))

    contexts = [*(draw_text(0) for _ in range(60)), "", " ", start]
    pairs = [(context, draw_text(1)) for context in contexts for _ in range(4)]
    # lm-eval cannot score a continuation that encodes to no tokens.
    return [pair for pair in pairs if tokenizer.encode(pair[1], add_special_tokens=False)]


def make_watched_model(tokenizer, kind: type[HFLM] = HFLM) -> HFLM:
    """Make a model without weights that records the tokens it would score or generate from."""

    class Watched(kind):
        def _loglikelihood_tokens(self, requests, *arguments, **options):
            self.noted = [(context, continuation) for _, context, continuation in requests]
            self.scored |= {texts: tuple(tokens) for texts, *tokens in requests}
            return [(0.0, False)] * len(requests)

        def _model_generate(self, context, **options):
            self.generated_from.append(context[0].tolist())
            return torch.cat([context, torch.full((1, 1), self.eot_token_id)], dim=1)

    config = make_tiny_model("qwen2", len(tokenizer), window=4096).config
    weightless = SimpleNamespace(config=config, device=torch.device("cpu"))
    model = Watched(pretrained=weightless, tokenizer=tokenizer, batch_size=1)
    model.scored, model.generated_from = {}, []
    return model
