"""Which token comes next: transformers' own processors and samplers, one request at a time.

A request alone, so that what it gets does not depend on who else is in the batch; and a generator
of its own, seeded from its name, so that neither does what it draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.scores import rows_at_once

SUPPORTED = ("greedy_search", "sample")


class UnsupportedGeneration(UserError):
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
                f"The generation setting {next(iter(unknown))!r} is not one that sampling or"
                " greedy search knows."
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

    def chooser(self, context: Sequence[int], seed: int) -> "Chooser":
        ids = torch.tensor([list(context)], device=self._device)
        processors = self._base._get_logits_processor(
            self._settings,
            input_ids_seq_length=ids.shape[1],
            encoder_input_ids=ids,
            device=self._device,
            model_kwargs={},
        )
        generator = torch.Generator().manual_seed(seed) if self.samples else None
        return Chooser(processors, ids, generator)


@dataclass
class Chooser:
    """The choices of one request; remembers what it has read and said."""

    processors: Any
    ids: torch.Tensor
    generator: torch.Generator | None

    @property
    def is_argmax(self) -> bool:
        """Whether the likeliest token is taken, so that the logits need not be looked at."""
        return not len(self.processors) and self.generator is None

    def weigh(self, logits: torch.Tensor) -> torch.Tensor:
        """The likeliest token, or what each token's share is where one is drawn; still on the device."""
        scores = self.processors(self.ids, logits.to(copy=True, dtype=torch.float32)[None])[0]
        return scores.argmax() if self.generator is None else scores.softmax(-1)

    def token(self, weighed: torch.Tensor) -> int:
        if self.generator is None:
            return int(weighed)
        return int(torch.multinomial(weighed, 1, generator=self.generator))


def choose(choosers: Sequence[Chooser], logits: Sequence[torch.Tensor]) -> list[int]:
    """Each one's next token from its logits, all by the same settings; the device is waited for once."""
    if not choosers:
        return []
    tokens: list[int] = []
    some = rows_at_once(logits[0].device)  # more would take memory that nobody has counted
    for start in range(0, len(choosers), some):
        part = choosers[start : start + some]
        weighed = [one.weigh(row) for one, row in zip(part, logits[start:], strict=False)]
        of_part = torch.stack(weighed).cpu()
        tokens += [one.token(row) for one, row in zip(part, of_part, strict=True)]
    read = choosers[0].ids.new_tensor(tokens)
    for at, chooser in enumerate(choosers):
        chooser.ids = torch.cat([chooser.ids, read[None, at : at + 1]], dim=1)
    return tokens


@dataclass(frozen=True)
class StopStrings:
    """Whether the end of what was generated contains one of the strings, as the harnesses see it.

    They look at the last few tokens only, as many as the string itself has and `more`, and decode
    special tokens too, so that a string such as <|im_end|> is found. Asked after each token, a string can be
    there only now if its last character is this token's, which most tokens do not have: they are not decoded.
    Near a part of a character everything is: Llama's tokenizer shows none of the bytes beside one that stands
    alone, and all of them once that one is no longer among the last few.
    """

    tokenizer: Any
    strings: tuple[str, ...]
    more: int

    @cached_property
    def _by_length(self) -> dict[int, list[str]]:
        lengths: dict[int, list[str]] = {}
        for string in self.strings:
            length = len(self.tokenizer.encode(string, add_special_tokens=False)) + self.more
            lengths.setdefault(length, []).append(string)
        return lengths

    @cached_property
    def _text(self) -> Callable[[int], str]:
        return cache(lambda token: self.tokenizer.decode([token]))

    @cached_property
    def _ends(self) -> Callable[[Sequence[int]], bool]:
        """Whether a string may end with the last token, told from the tokens' own texts where these can tell."""
        last = {string[-1:] for string in self.strings}
        # Some tokenizers take spaces away between tokens, or from the first of them.
        tidies = getattr(self.tokenizer, "clean_up_tokenization_spaces", False)
        if tidies or "" in last or " " in last:
            return lambda generated: True
        # The tokens that are looked at, and the one that was for the last time a token ago.
        near = max(self._by_length) + 1

        def ends(generated: Sequence[int]) -> bool:
            return not last.isdisjoint(self._text(generated[-1])) or any(
                "\ufffd" in self._text(token) for token in generated[-near:]
            )

        return ends

    def __call__(self, generated: Sequence[int]) -> bool:
        return self._ends(generated) and any(
            string in text
            for length, strings in self._by_length.items()
            for text in [self.tokenizer.decode(generated[-length:])]
            for string in strings
        )


StopTest = Callable[[Sequence[int]], bool]
