"""lm-eval's own model, and a note of every token that would reach its weights."""

from types import SimpleNamespace

import torch
from lm_eval.models.huggingface import HFLM

from tests.tiny_models import tiny_model


def watched(tokenizer, kind: type[HFLM] = HFLM) -> HFLM:
    """Without weights: what it would score or generate from, it notes."""

    class Watched(kind):
        def _loglikelihood_tokens(self, requests, *arguments, **options):
            self.noted = [(context, continuation) for _, context, continuation in requests]
            self.scored |= {texts: tuple(tokens) for texts, *tokens in requests}
            return [(0.0, False)] * len(requests)

        def _model_generate(self, context, **options):
            self.generated_from.append(context[0].tolist())
            return torch.cat([context, torch.full((1, 1), self.eot_token_id)], dim=1)

    config = tiny_model("qwen2", len(tokenizer), window=4096).config
    weightless = SimpleNamespace(config=config, device=torch.device("cpu"))
    model = Watched(pretrained=weightless, tokenizer=tokenizer, batch_size=1)
    model.scored, model.generated_from = {}, []
    return model
