"""lm-eval's HFLM with a cache of its tokenizer, and one without a model, which finds the tokens of a text.

What is trained on before a test goes through here, so that it is what the test will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import has_bos_prefix

from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache


@dataclass(frozen=True)
class EncodedRequest:
    """A request: what a model is given, and what it is scored on behind that, if it is."""

    texts: tuple[str, str]
    context: list[int]
    continuation: list[int]


class CachedHFLM(HFLM):
    """HFLM that encodes each string and, where the tokenizer allows it, what strings share once."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tokenizer_cache = TokenizerCache(self.tokenizer)
        self._start = self.tokenizer.decode(self.prefix_token_id)

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, left_truncate_len=None, **kwargs
    ) -> list[int]:
        if left_truncate_len or kwargs:
            return super().tok_encode(string, add_special_tokens, left_truncate_len, **kwargs)
        if add_special_tokens is None:
            has_start = has_bos_prefix(string, self._start)
            add_special_tokens = False if has_start else self.add_bos_token
        return self.tokenizer_cache.encode_text(string, add_special_tokens)

    def encode_context(self, text: str, max_length: int | None = None) -> list[int]:
        """Encode a text to generate from: its last tokens, at most `max_length`."""
        return self.tok_batch_encode([text], left_truncate_len=max_length)[0][0].tolist()


class Encoder(CachedHFLM):
    """HFLM with a tokenizer and no weights: what it would put to a model, it notes.

    Start token, spaces at the end of a context, empty contexts, chat template: all is HFLM's own.
    """

    def __init__(self, tokenizer: Any, config: Any):
        weightless: Any = SimpleNamespace(config=config, device=torch.device("cpu"))
        super().__init__(pretrained=weightless, tokenizer=tokenizer, batch_size=1)
        self.noted: list[EncodedRequest] = []

    def encoded(
        self, output_type: str, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[list[int], list[int]]]:
        """Encode the prompt and right answer of each pair as a task of this kind puts them.

        A text that is scored as a whole (loglikelihood_rolling) has an empty prompt and stands behind one start
        token, or where the tokenizer has none the end of text, as in the test.
        """
        if output_type == "generate_until":
            contexts = [self.encode_context(prompt) for prompt, _ in pairs]
            return [
                (context, self._encode_answer(context, *pair))
                for context, pair in zip(contexts, pairs, strict=True)
            ]
        self.noted = []
        self.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], True)
        return [(request.context, request.continuation) for request in self.noted]

    def _encode_answer(self, context: list[int], prompt: str, answer: str) -> list[int]:
        """Encode an answer as it follows in the whole text.

        Where a token of the whole reaches over the border it is encoded alone: in the test it can begin nowhere else.
        """
        whole = self.tok_encode(prompt + answer)
        if whole[: len(context)] != context:
            return self.tok_encode(answer, add_special_tokens=False)
        return whole[len(context) :]

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, override_bs=None):
        self.noted += [EncodedRequest(texts or ("", ""), *tokens) for texts, *tokens in requests]
        return [(0.0, False)] * len(requests)

    def generate_until(self, requests, disable_tqdm=False) -> list[str]:
        texts = [request.args[0] for request in requests]
        self.noted += [EncodedRequest((text, ""), self.encode_context(text), []) for text in texts]
        return [""] * len(requests)
