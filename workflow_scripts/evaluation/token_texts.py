"""Show tokens as a person reads them."""

from typing import Any


def decode_tokens(tokens: list[int], tokenizer: Any) -> list[tuple[int, str]]:
    """Return each token's number and text, with the space that it begins with."""
    shown = []
    for token, name in zip(tokens, tokenizer.convert_ids_to_tokens(tokens), strict=True):
        text = tokenizer.decode([token])
        # Decoders that write a space as ▁ take the first of what they are given for none.
        is_lost = name.startswith("▁") and not text.startswith(" ")
        shown.append((token, " " * is_lost + text))
    return shown
