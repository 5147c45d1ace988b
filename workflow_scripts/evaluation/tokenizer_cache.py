"""Token ids of many texts that begin alike, of which no stretch is encoded twice.

Few-shot prompts repeat their examples for every question and a question for each of its choices. A
byte-level tokenizer splits a text into words before it encodes them, so that two parts of a text which
meet between a word and the space or line break behind it have the tokens that they have alone. There
texts are cut, from their beginning on, and each distinct piece is encoded once. A tokenizer that does not
show by its settings that it works like this is given whole texts.
"""

import json
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

# Texts or pieces that are encoded in one call: enough for all threads.
_BATCH = 1_024
# Characters of pieces that are kept.
_MAX_CHARACTERS = 2**24
_WORD, _SPACE = "[A-Za-z0-9]", "[ \n]"
# From the beginning on, so that what begins alike is cut alike; short pieces would cost more than they spare.
_PIECE = re.compile(rf".{{48,}}?{_WORD}(?={_SPACE})|.+", re.DOTALL)
# How Qwen splits a text; Llama 3 keeps up to three digits together. Each match is found without a look at
# what stands before it, and none that holds a letter or digit goes on with a space or line break.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_THREE_DIGITS = _WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


class TokenizerCache:
    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self.splits = encodes_words_alone(tokenizer)
        self._pieces: dict[str, list[int]] = {}
        self._num_characters = 0
        # What is put around a text, by what the tokenizer is told of special tokens.
        self._special_tokens: dict[bool | None, tuple[list[int], list[int]]] = {}

    def encode(self, texts: list[str], special: bool | None, **options: Any) -> list[list[int]]:
        """Encode with special tokens or without, or with None as the tokenizer does by itself."""
        if options or not self.splits:
            return self._encode_whole(texts, special, **options)
        pieces = [_PIECE.findall(text) for text in texts]
        self._add_pieces(dict.fromkeys(chain.from_iterable(pieces)))
        before, behind = self._get_special_tokens(special)
        return [
            [*before, *chain.from_iterable(map(self._pieces.__getitem__, parts)), *behind]
            for parts in pieces
        ]

    def _add_pieces(self, pieces: Iterable[str]) -> None:
        if self._num_characters > _MAX_CHARACTERS:
            self._pieces = {}
            self._num_characters = 0
        new = [piece for piece in pieces if piece not in self._pieces]
        self._pieces |= zip(new, self._encode_whole(new, False), strict=True)
        self._num_characters += sum(map(len, new))

    def _get_special_tokens(self, special: bool | None) -> tuple[list[int], list[int]]:
        if special not in self._special_tokens:
            (bare,), (whole,) = (self._encode_whole(["a"], how) for how in (False, special))
            start = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
            self._special_tokens[special] = whole[:start], whole[start + len(bare) :]
        return self._special_tokens[special]

    def _encode_whole(
        self, texts: list[str], special: bool | None, **options: Any
    ) -> list[list[int]]:
        if special is not None:
            options["add_special_tokens"] = special
        encoded = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            encoded += self._tokenizer(
                batch, return_attention_mask=False, return_token_type_ids=False, **options
            )["input_ids"]
        return encoded


def encodes_words_alone(tokenizer: Any) -> bool:
    """Return whether a text cut between a word and a space has the tokens of its parts."""
    if not getattr(tokenizer, "is_fast", False):
        return False
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    model, normalizer, split = parts["model"], parts["normalizer"], parts["pre_tokenizer"]
    return (
        model["type"] == "BPE"
        and not (model["dropout"] or model["fuse_unk"])
        and not (model["continuing_subword_prefix"] or model["end_of_word_suffix"])
        and (normalizer is None or normalizer == {"type": "NFC"})
        and _splits_at_words(split)
        and not any(_spans_words(token) for token in parts["added_tokens"])
    )


def _splits_at_words(pre_tokenizer: dict[str, Any] | None) -> bool:
    steps = (pre_tokenizer or {}).get("pretokenizers", [pre_tokenizer] if pre_tokenizer else [])
    return all(map(_keeps_words, steps)) and any(
        step["type"] == "Split" or step.get("use_regex") for step in steps
    )


def _keeps_words(step: dict[str, Any]) -> bool:
    if step["type"] == "Split":
        is_known = step["pattern"].get("Regex") in (_WORDS, _THREE_DIGITS)
        return is_known and step["behavior"] == "Isolated" and not step["invert"]
    return step["type"] == "Digits" or (
        step["type"] == "ByteLevel" and not step["add_prefix_space"]
    )


def _spans_words(token: dict[str, Any]) -> bool:
    """Return whether an added token, found before anything is split, holds a cut or takes the spaces behind it."""
    text = token["content"]
    return bool(
        re.search(_WORD + _SPACE, text) or (token["rstrip"] and re.search(_WORD + "$", text))
    )
