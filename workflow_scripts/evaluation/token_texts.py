"""Format tokens in readable form."""

from typing import Any


def decode_tokens(tokens: list[int], tokenizer: Any) -> list[tuple[int, str]]:
    """Return the id and text of each token, including its leading space."""
    shown = []
    for token, name in zip(tokens, tokenizer.convert_ids_to_tokens(tokens), strict=True):
        text = tokenizer.decode([token])
        # Decoders that write a space as ▁ drop the leading space of the first token.
        is_lost = name.startswith("▁") and not text.startswith(" ")
        shown.append((token, " " * is_lost + text))
    return shown
