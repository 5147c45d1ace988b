"""Whether it is a model that cannot be run packed, or the installed transformers that has changed.

A small plain Llama can always be run packed. Where it cannot, what this package relies on is gone, and
every evaluation would be slow in silence: that is said on the log and in the record.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

# Private methods of transformers' models that generation calls.
NEEDED = ("_prepare_generation_config", "_prepare_special_tokens", "_get_logits_processor")


@cache
def changed_library(engine: Callable[..., Any]) -> str | None:
    """What the installed transformers no longer does for the engine's model, said once; None where it does it all."""
    problem = _problem(engine)
    if problem is None:
        return None
    sentence = f"the installed transformers does not behave as expected ({problem})"
    print(f"WARNING: {sentence}; evaluations are slower than they need be.", flush=True)
    return sentence


def _problem(engine: Callable[..., Any]) -> str | None:
    from transformers import GenerationMixin

    if lacking := [name for name in NEEDED if not hasattr(GenerationMixin, name)]:
        return f"GenerationMixin has no {', '.join(lacking)}"
    try:
        with torch.autocast("cpu", enabled=False):
            llama = engine(_plain_llama(), doubted=False)
    except Exception as error:  # whatever it is, it was not so before
        print(f"A plain Llama cannot be called: {error!r}", flush=True)
        return f"a plain Llama cannot be called ({type(error).__name__})"
    if llama.why_not_packed:
        return f"of a plain Llama, {llama.why_not_packed}"
    if llama.why_not_by_branch:
        return f"of a plain Llama, {llama.why_not_by_branch} where it attends branch by branch"
    if not llama.selects_by_row:
        return "a plain Llama computes all logits where some are asked for"
    return (
        None if llama.attention == "sdpa" else "a plain Llama does not say what attention it runs"
    )


def _plain_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng(devices=[]):  # what is drawn here is nothing to anyone
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=16,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=32,
            initializer_range=0.2,
            attn_implementation="sdpa",
        )
        return LlamaForCausalLM(config).eval()
