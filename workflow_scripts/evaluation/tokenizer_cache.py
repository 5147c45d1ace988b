"""Encode many texts with shared prefixes, each shared part only once.

Few-shot prompts repeat the examples for every question, and a question for each of its choices. A byte-level tokenizer
splits a text into words before it encodes them. So if a text is cut between a word and the following space or line
break, the two parts have the same tokens as the whole. Texts are cut at such points, from the start, and each distinct
piece is encoded once. Other tokenizers encode whole texts.
"""

import json
import re
from functools import lru_cache
from itertools import chain
from typing import Any

from workflow_scripts.hub.bos_token import get_bos_tokens

# Texts or pieces per call: enough to use all threads.
_BATCH = 1_024
# Whole texts to cache: a harness encodes a context again for each choice.
_MAX_TEXTS = 1_024
_WORD, _SPACE = "[A-Za-z0-9]", "[ \n]"
# Qwen's pre-tokenizer pattern; Llama 3's keeps up to three digits together. A match does not depend on the text
# before it, and a match with a letter or digit never continues with a space or line break.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_THREE_DIGITS = _WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


class TokenizerCache:
    """A tokenizer that encodes pieces shared by several texts only once."""

    def __init__(self, tokenizer: Any, min_chars: int = 48, max_pieces: int = 2**18):
        """Cut texts into pieces of at least `min_chars`, and clear the cache when it has more than `max_pieces`."""
        self._tokenizer = tokenizer
        # Matched from the start, so that equal prefixes have equal cuts.
        self._piece = re.compile(rf".{{{min_chars},}}?{_WORD}(?={_SPACE})|.+", re.DOTALL)
        self._max_pieces = max_pieces
        self._uses_pieces = can_encode_pieces(tokenizer)
        self._tokens_by_piece: dict[str, list[int]] = {}
        self.encode_text = lru_cache(_MAX_TEXTS)(
            lambda text, add_special_tokens: self.encode([text], add_special_tokens)[0]
        )
        self._bos = get_bos_tokens(tokenizer)

    def encode(self, texts: list[str], add_special_tokens: bool | None) -> list[list[int]]:
        """Encode with or without special tokens; None means the tokenizer's default."""
        if not self._uses_pieces:
            return self._encode_whole(texts, add_special_tokens)
        split_texts = [self._piece.findall(text) for text in texts]
        if len(self._tokens_by_piece) > self._max_pieces:
            self._tokens_by_piece = {}
        new = list(set(chain.from_iterable(split_texts)) - self._tokens_by_piece.keys())
        self._tokens_by_piece |= zip(new, self._encode_whole(new, False), strict=True)
        bos = [] if add_special_tokens is False else self._bos
        return [
            [*bos, *chain.from_iterable(self._tokens_by_piece[piece] for piece in pieces)]
            for pieces in split_texts
        ]

    def _encode_whole(self, texts: list[str], add_special_tokens: bool | None) -> list[list[int]]:
        options = {}
        if add_special_tokens is not None:
            options = {"add_special_tokens": add_special_tokens}
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        return [
            tokens
            for batch in batches
            for tokens in self._tokenizer(
                batch, return_attention_mask=False, return_token_type_ids=False, **options
            )["input_ids"]
        ]


def can_encode_pieces(tokenizer: Any) -> bool:
    """Return whether a text cut between a word and a space has the same tokens as its parts."""
    if not getattr(tokenizer, "is_fast", False):
        return False
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    pre_tokenizer = parts["pre_tokenizer"] or {}
    steps = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    return (
        parts["normalizer"] in (None, {"type": "NFC"})
        and all(_is_word_split(step) for step in steps)
        and any(step["type"] == "Split" or step.get("use_regex") for step in steps)
        and not any(_is_cut(token) for token in parts["added_tokens"])
        # No special token follows a text.
        and tokenizer.num_special_tokens_to_add() == len(get_bos_tokens(tokenizer))
    )


def _is_word_split(step: dict[str, Any]) -> bool:
    match step:
        case {"type": "Split", "pattern": {"Regex": regex}}:
            is_supported = regex in (_WORDS, _THREE_DIGITS)
            return is_supported and step["behavior"] == "Isolated" and not step["invert"]
        case {"type": "ByteLevel"}:
            return not step["add_prefix_space"]
        case _:
            return step.get("type") == "Digits"


def _is_cut(token: dict[str, Any]) -> bool:
    """Return whether an added token, matched before the split, contains a cut or strips the spaces after it."""
    text = token["content"]
    ends_in_word = token["rstrip"] and re.search(_WORD + "$", text)
    return bool(ends_in_word or re.search(_WORD + _SPACE, text))
