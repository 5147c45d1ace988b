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
from typing import Any

# Texts or pieces that are encoded together: enough for all threads.
_TOGETHER = 1_024
# Characters of pieces that are remembered.
_REMEMBERED = 2**24
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


class SharedText:
    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._in_pieces = encodes_words_alone(tokenizer)
        self._known: dict[str, list[int]] = {}
        self._characters = 0
        # What is put around a text, by what the tokenizer was told of special tokens.
        self._around: dict[bool | None, tuple[list[int], list[int]]] = {}

    def encode(self, texts: list[str], special: bool | None, **options: Any) -> list[list[int]]:
        """With special tokens or without, or None for what the tokenizer does by itself."""
        if options or not self._in_pieces:
            return self._whole(texts, special, **options)
        pieces = [_PIECE.findall(text) for text in texts]
        self._learn(piece for of_text in pieces for piece in of_text)
        before, behind = self._specials(special)
        found = []
        for of_text in pieces:
            ids = [*before]
            for piece in of_text:
                ids += self._known[piece]
            found.append(ids + behind)
        return found

    def _learn(self, pieces: Iterable[str]) -> None:
        if self._characters > _REMEMBERED:
            self._known, self._characters = {}, 0
            pieces = list(pieces)
        new = [piece for piece in dict.fromkeys(pieces) if piece not in self._known]
        self._known |= zip(new, self._whole(new, False), strict=True)
        self._characters += sum(map(len, new))

    def _specials(self, special: bool | None) -> tuple[list[int], list[int]]:
        if special not in self._around:
            (bare,), (whole,) = self._whole(["a"], False), self._whole(["a"], special)
            at = next(at for at in range(len(whole)) if whole[at : at + len(bare)] == bare)
            self._around[special] = whole[:at], whole[at + len(bare) :]
        return self._around[special]

    def _whole(self, texts: list[str], special: bool | None, **options: Any) -> list[list[int]]:
        options |= {} if special is None else {"add_special_tokens": special}
        together = (texts[at : at + _TOGETHER] for at in range(0, len(texts), _TOGETHER))
        return [
            ids
            for some in together
            for ids in self._tokenizer(
                some, return_attention_mask=False, return_token_type_ids=False, **options
            )["input_ids"]
        ]


def encodes_words_alone(tokenizer: Any) -> bool:
    """Whether a text cut between a word and a space has the tokens of its parts."""
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
        and not any(_reaches_over(token) for token in parts["added_tokens"])
    )


def _splits_at_words(split: dict[str, Any] | None) -> bool:
    steps = (split or {}).get("pretokenizers", [split] if split else [])
    return all(map(_keeps_the_cut, steps)) and any(
        step["type"] == "Split" or step.get("use_regex") for step in steps
    )


def _keeps_the_cut(step: dict[str, Any]) -> bool:
    match step["type"]:
        case "ByteLevel":
            return not step["add_prefix_space"]
        case "Digits":
            return True
        case "Split":
            words = step["pattern"].get("Regex") in (_WORDS, _THREE_DIGITS)
            return words and step["behavior"] == "Isolated" and not step["invert"]
    return False


def _reaches_over(token: dict[str, Any]) -> bool:
    """An added token is found before anything is split, and some swallow the spaces behind them."""
    text = token["content"]
    return bool(
        re.search(_WORD + _SPACE, text) or (token["rstrip"] and re.search(_WORD + "$", text))
    )
