"""The tokens that lm-eval makes of a text, found without the model that it would put them to.

What is trained on before a test goes through here, so that it is what the test will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from lm_eval.api.instance import Instance

from workflow_scripts.evaluation.encode_once import EncodeOnce


@dataclass(frozen=True)
class EncodedRequest:
    """One request: what a model is given, and what it is scored on behind that, if it is."""

    texts: tuple[str, str]
    context: list[int]
    continuation: list[int]


class Encoder(EncodeOnce):
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
        """Prompt and right answer of each pair as a task of this kind puts them.

        A text that is scored as a whole (loglikelihood_rolling) has an empty prompt and stands
        behind one start token, or where the tokenizer has none the end of text, as in the test.
        """
        if output_type == "generate_until":
            return self._generated(pairs)
        self.noted = []
        self.loglikelihood([Instance("loglikelihood", {}, pair, 0) for pair in pairs], True)
        return [(one.context, one.continuation) for one in self.noted]

    def _generated(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """The prompts as they are generated from, and the answers as they follow in the whole texts.

        Where a token of the whole reaches over the border, the answer is encoded alone: in the test
        it can begin nowhere else.
        """
        heads = self.contexts([prompt for prompt, _ in pairs])
        with self.encoding_ahead((prompt + answer, None) for prompt, answer in pairs):
            wholes = [self.tok_encode(prompt + answer) for prompt, answer in pairs]
        return [
            (head, whole[len(head) :])
            if whole[: len(head)] == head
            else (head, self.tok_encode(answer, add_special_tokens=False))
            for head, whole, (_, answer) in zip(heads, wholes, pairs, strict=True)
        ]

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, override_bs=None):
        self.noted += [EncodedRequest(texts or ("", ""), *tokens) for texts, *tokens in requests]
        return [(0.0, False)] * len(requests)

    def generate_until(self, requests, disable_tqdm=False) -> list[str]:
        texts = [request.args[0] for request in requests]
        self.noted += [
            EncodedRequest((text, ""), context, [])
            for text, context in zip(texts, self.contexts(texts), strict=True)
        ]
        return [""] * len(requests)
