"""Detect the BOS token of tokenizers that prepend one to every text, such as Llama's and Gemma's.

The harnesses leave it to the tokenizer; code that splits texts into blocks and windows must add it explicitly.
"""

from typing import Any


def get_bos_tokens(tokenizer: Any) -> list[int]:
    """Return the tokens that the tokenizer prepends to every text: one or none."""
    text = "a"
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    with_special = tokenizer(text)["input_ids"]
    for start in range(len(with_special)):
        if with_special[start : start + len(tokens)] == tokens:
            return with_special[:start]
    return []
