"""Set up transformers' generation settings and logits processors, and detect the end of an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch

_SUPPORTED = ("greedy_search", "sample")  # values of transformers' GenerationMode


class UnsupportedGeneration(ValueError):
    """A generation mode that needs transformers' own loop, such as beam search."""


class GenerationRules:
    """The generation settings of a model and a call, combined as transformers does."""

    def __init__(self, model, options: dict[str, Any]):
        # PEFT wraps the model that holds the generation settings.
        self._base = getattr(model, "get_base_model", lambda: model)()
        self._settings, unknown = self._base._prepare_generation_config(None, **options)
        mode = self._settings.get_generation_mode().value
        if unknown or mode not in _SUPPORTED:
            raise UnsupportedGeneration(
                f"The generation settings are {mode} and {list(unknown)}; expected is {' or '.join(_SUPPORTED)}."
            )
        self.is_sampling = mode == "sample"
        # Renormalisation does not change the argmax; without it, greedy decoding needs no processor.
        if not self.is_sampling:
            self._settings.renormalize_logits = False
        self._device = next(model.parameters()).device
        self._base._prepare_special_tokens(self._settings, device=self._device)
        ends = self._settings._eos_token_tensor
        self.end_tokens = frozenset([] if ends is None else ends.tolist())

    def build_processors(self, context: Sequence[int]) -> Any:
        """Build the logits processors for the tokens after a context."""
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
    """A search for stop strings in the last generated tokens, special tokens included.

    As in the harnesses, a stop string is searched in as many decoded tokens as it has itself, plus `lookback`.
    """

    tokenizer: Any
    strings: tuple[str, ...]
    lookback: int

    @cached_property
    def _decoded_counts(self) -> dict[str, int]:
        """The number of last tokens to decode for each stop string."""
        encode = partial(self.tokenizer.encode, add_special_tokens=False)
        return {string: len(encode(string)) + self.lookback for string in self.strings}

    def __call__(self, generated: Sequence[int]) -> bool:
        counts = self._decoded_counts
        texts = {count: self.tokenizer.decode(generated[-count:]) for count in set(counts.values())}
        return any(string in texts[count] for string, count in counts.items())
