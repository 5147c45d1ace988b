"""The start token, where a tokenizer puts one in front of every text by itself, as Llama's and Gemma's do.

The harnesses leave it to the tokenizer; what is cut into blocks and windows needs to know it.
"""

from typing import Any


def get_bos_tokens(tokenizer: Any) -> list[int]:
    """Its tokens in front of every text: one, or none."""
    text = "a"
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = tokenizer(text)["input_ids"]
    starts = [at for at in range(len(whole)) if whole[at : at + len(plain)] == plain]
    return whole[: starts[0]] if starts else []
