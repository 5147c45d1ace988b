"""Detect the BOS token of tokenizers that prepend one to every text, such as Llama's and Gemma's.

The harnesses leave it to the tokenizer; code that splits texts into blocks and windows must add it explicitly.
"""

from typing import Any


def get_bos_tokens(tokenizer: Any) -> list[int]:
    """Return the tokens that the tokenizer prepends to every text: one or none."""
    first = tokenizer("a")["input_ids"][:1]
    return first if first == [tokenizer.bos_token_id] else []
