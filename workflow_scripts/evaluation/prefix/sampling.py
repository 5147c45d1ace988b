"""Choose the next token by transformers' own settings and processors, and find where an answer ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch

SUPPORTED = ("greedy_search", "sample")

StopTest = Callable[[Sequence[int]], bool]


class UnsupportedGeneration(ValueError):
    """A way of generating that needs transformers' own loop, such as beam search."""


class GenerationRules:
    """The settings of a model and a call together, as transformers combines them."""

    def __init__(self, model, options: dict[str, Any]):
        # PEFT wraps the model whose generation settings these are.
        self._base = getattr(model, "get_base_model", lambda: model)()
        if not hasattr(self._base, "_prepare_generation_config"):
            raise UnsupportedGeneration(
                f"{type(self._base).__name__} is not a transformers model that generates."
            )
        self._settings, unknown = self._base._prepare_generation_config(None, **options)
        if unknown:
            raise UnsupportedGeneration(
                f"The generation setting {next(iter(unknown))!r} is unknown."
            )
        mode = self._settings.get_generation_mode().value
        if mode not in SUPPORTED:
            raise UnsupportedGeneration(
                f"The generation settings ask for {mode}; expected is {' or '.join(SUPPORTED)}."
            )
        self.samples = mode == "sample"
        if not self.samples:  # it moves no maximum, and the likeliest token needs no processor
            self._settings.renormalize_logits = False
        self._device = next(model.parameters()).device
        self._base._prepare_special_tokens(self._settings, device=self._device)
        ends = self._settings._eos_token_tensor
        self.end_tokens = frozenset([] if ends is None else ends.tolist())

    def build_processors(self, context: Sequence[int]) -> Any:
        """Build what changes the logits of the tokens behind a context."""
        ids = torch.tensor([list(context)], device=self._device)
        return self._base._get_logits_processor(
            self._settings,
            input_ids_seq_length=ids.shape[1],
            encoder_input_ids=ids,
            device=self._device,
            model_kwargs={},
        )


@dataclass(frozen=True)
class StopStrings:
    """Find one of some strings at the end of what was generated, as the harnesses do.

    They decode the last few tokens only, as many as the string itself has and `lookback`, special tokens too. Called
    after each token, a string can be there only now if its last character is this token's, which is rare: other tokens
    are not decoded. Near a part of a character all are: Llama's tokenizer shows no byte beside one that stands alone.
    """

    tokenizer: Any
    strings: tuple[str, ...]
    lookback: int

    @cached_property
    def _counts(self) -> list[tuple[str, int]]:
        encode = self.tokenizer.encode
        return [
            (string, len(encode(string, add_special_tokens=False)) + self.lookback)
            for string in self.strings
        ]

    @cached_property
    def _decode(self) -> Callable[[int], str]:
        return cache(lambda token: self.tokenizer.decode([token]))

    @cached_property
    def _last_characters(self) -> set[str]:
        return {string[-1:] for string in self.strings}

    def __call__(self, generated: Sequence[int]) -> bool:
        return self._can_end(generated) and any(
            string in self.tokenizer.decode(generated[-count:]) for string, count in self._counts
        )

    def _can_end(self, generated: Sequence[int]) -> bool:
        # Some tokenizers take spaces away between tokens, or from the first of them.
        tidies = getattr(self.tokenizer, "clean_up_tokenization_spaces", False)
        if tidies or not self._last_characters.isdisjoint(("", " ")):
            return True
        if not self._last_characters.isdisjoint(self._decode(generated[-1])):
            return True
        # The tokens that are looked at, and the one that was for the last time a token ago.
        longest = max((count for _, count in self._counts), default=0) + 1
        return any("\ufffd" in self._decode(token) for token in generated[-longest:])
