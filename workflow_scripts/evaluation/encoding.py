"""Extend lm-eval's HFLM with a tokenizer cache, and add a variant without weights that only tokenizes.

The items of the training before a test are encode_pairs here, so that training and test use the same tokens.
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
    """The texts and tokens of a request: the context, and the continuation to score, if any."""

    texts: tuple[str, str]
    context: list[int]
    continuation: list[int]


class CachedHFLM(HFLM):
    """HFLM that encodes each string once and, if the tokenizer allows it, each shared part once."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tokenizer_cache = TokenizerCache(self.tokenizer)
        self._bos_text = self.tokenizer.decode(self.prefix_token_id)

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, left_truncate_len=None, **kwargs
    ) -> list[int]:
        if left_truncate_len or kwargs:
            return super().tok_encode(string, add_special_tokens, left_truncate_len, **kwargs)
        if add_special_tokens is None:
            has_bos = has_bos_prefix(string, self._bos_text)
            add_special_tokens = False if has_bos else self.add_bos_token
        return self.tokenizer_cache.encode_text(string, add_special_tokens)

    def encode_context(self, text: str, max_length: int | None = None) -> list[int]:
        """Encode a text to generate from; keep at most its last `max_length` tokens."""
        return self.tok_batch_encode([text], left_truncate_len=max_length)[0][0].tolist()


class Encoder(CachedHFLM):
    """HFLM with a tokenizer and no weights, which records the requests that it would send to a model.

    HFLM handles BOS tokens, trailing spaces of a context, empty contexts and the chat template.
    """

    def __init__(self, tokenizer: Any, config: Any):
        weightless: Any = SimpleNamespace(config=config, device=torch.device("cpu"))
        super().__init__(pretrained=weightless, tokenizer=tokenizer, batch_size=1)
        self.recorded_requests: list[EncodedRequest] = []

    def encode_pairs(
        self, output_type: str, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[list[int], list[int]]]:
        """Encode the prompt and correct answer of each pair as lm-eval does for a task of this output type.

        A text that is scored whole (loglikelihood_rolling) has an empty prompt and follows one BOS token, or the
        end-of-text token if the tokenizer has no BOS token, as in the test.
        """
        if output_type == "generate_until":
            contexts = [self.encode_context(prompt) for prompt, _ in pairs]
            return [
                (context, self._encode_answer(context, *pair))
                for context, pair in zip(contexts, pairs, strict=True)
            ]
        self.recorded_requests = []
        self.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], True)
        return [(request.context, request.continuation) for request in self.recorded_requests]

    def _encode_answer(self, context: list[int], prompt: str, answer: str) -> list[int]:
        """Encode an answer as part of the whole text.

        If a token spans the boundary, encode the answer alone: in the test, generation starts at the boundary.
        """
        whole = self.tok_encode(prompt + answer)
        if whole[: len(context)] != context:
            return self.tok_encode(answer, add_special_tokens=False)
        return whole[len(context) :]

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, override_bs=None):
        self.recorded_requests += [
            EncodedRequest(texts or ("", ""), *tokens) for texts, *tokens in requests
        ]
        return [(0.0, False)] * len(requests)

    def generate_until(self, requests, disable_tqdm=False) -> list[str]:
        texts = [request.args[0] for request in requests]
        self.recorded_requests += [
            EncodedRequest((text, ""), self.encode_context(text), []) for text in texts
        ]
        return [""] * len(requests)
