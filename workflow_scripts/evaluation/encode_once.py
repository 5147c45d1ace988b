"""HFLM that tokenises each distinct string once, in batches on all threads of the job.

lm-eval tokenises one string at a time, and a context once for each of its choices: a third of the time
that a small model takes. What the strings are, and what is made of their tokens, stays HFLM's own: it asks
for one string after another, and finds most of them encoded ahead. What strings share is encoded once, too,
where the tokenizer allows it (shared_text.py).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import has_bos_prefix

from workflow_scripts.evaluation.shared_text import SharedText

# Texts that are encoded ahead: enough for all threads, few enough to be held beside the model.
_TOGETHER = 1_024

# A text, and whether HFLM asks for special tokens: as the tokenizer does by itself, or not.
Text = tuple[str, bool | None]


class EncodeOnce(HFLM):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._upcoming: Iterator[Text] = iter(())
        self._encoded: dict[Text, list[int]] = {}
        self._shared_text = SharedText(self.tokenizer)

    def loglikelihood(self, requests, disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        with self.encoding_ahead(_texts(request.args for request in requests)):
            return super().loglikelihood(requests, disable_tqdm)

    @contextmanager
    def encoding_ahead(self, texts: Iterable[Text]) -> Iterator[None]:
        """While it lasts, `tok_encode` is called with these texts, more or less in this order."""
        self._upcoming = iter(texts)
        try:
            yield
        finally:
            self._upcoming, self._encoded = iter(()), {}

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, left_truncate_len=None, **kwargs
    ) -> list[int]:
        text = (string, add_special_tokens)
        if text not in self._encoded and (following := [*islice(self._upcoming, _TOGETHER)]):
            self._encoded = self._together(following)
        if left_truncate_len or kwargs or text not in self._encoded:
            return super().tok_encode(string, add_special_tokens, left_truncate_len, **kwargs)
        return self._encoded[text]

    def contexts(self, texts: list[str], most: int | None = None) -> list[list[int]]:
        """What `tok_batch_encode` makes of each text by itself: its last tokens, `most` of them."""
        last = slice(most and -most, None)
        start = getattr(self.tokenizer, "bos_token", None)
        distinct = list(dict.fromkeys(texts))
        encoded: dict[str, list[int]] = {}
        for begins in (True, False):
            some = [text for text in distinct if has_bos_prefix(text, start) == begins]
            special = False if begins else self.add_bos_token
            options = {"truncation": True} if self.truncation else {}
            ids = self._shared_text.encode(some, special, **options)
            encoded |= {text: tokens[last] for text, tokens in zip(some, ids, strict=True)}
        return [encoded[text] for text in texts]

    def _together(self, texts: list[Text]) -> dict[Text, list[int]]:
        start = self.tokenizer.decode(self.prefix_token_id)
        by_choice: dict[bool | None, list[Text]] = {}
        for text, special in dict.fromkeys(texts):
            chosen = self.add_bos_token if special is None else special
            if special is None and has_bos_prefix(text, start):
                chosen = False  # the text brings its own
            by_choice.setdefault(chosen, []).append((text, special))
        return {
            text: tokens
            for special, some in by_choice.items()
            for text, tokens in zip(
                some, self._shared_text.encode([string for string, _ in some], special), strict=True
            )
        }


def _texts(pairs: Iterable[tuple[str, str]]) -> Iterator[Text]:
    """The strings that HFLM asks for, for each context and continuation."""
    for context, continuation in pairs:
        if context:
            yield context + continuation, None
            yield context.rstrip(), None
        else:
            yield continuation, False
