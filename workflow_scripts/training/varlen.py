"""Attention for rows of several samples on a GPU: one call of a kernel that is told where each sample ends.

It needs no mask and repeats no keys for grouped queries. PyTorch has it since 2.10, for 16 bits and GPUs
from Ampere on; where flash-attn is asked for, transformers calls that with the same arguments.
"""

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.hub.load import is_ampere_or_newer

NAME = "packed_varlen"
_WIDEST_HEAD = 256
_DROPOUTS = ("attention_dropout", "attn_pdrop")  # which the kernel has none of
_CAPS = ("attn_logit_softcapping",)


def kernel(*arguments, **options) -> Tensor:
    """PyTorch's; tests put a plain one with the same arguments in its place."""
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn(*arguments, **options)


def fits(model) -> bool:
    """Whether the kernel can do what this model needs, on the device where it is."""
    config = model.config.get_text_config()
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return (
        model.device.type == "cuda"
        and is_ampere_or_newer()
        and model.dtype in (torch.bfloat16, torch.float16)
        and width <= _WIDEST_HEAD
        and width % 8 == 0
        and not any(getattr(config, name, None) for name in (*_DROPOUTS, *_CAPS))
    )


def varlen_attention(
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask,
    *,
    ends: Tensor | None = None,
    longest: int = 0,
    **kwargs,
) -> tuple[Tensor, None]:
    """Each sample by itself, in one call; without their ends it is transformers' sdpa attention."""
    if ends is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    kind = query.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else query.dtype
    q, k, v = (x[0].transpose(0, 1).to(dtype) for x in (query, key, value))
    window = kwargs.get("sliding_window")
    attended = kernel(
        q,
        k,
        v,
        ends,
        ends,
        longest,
        longest,
        scale=kwargs.get("scaling"),
        window_size=(window - 1 if window else -1, 0),
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return attended[None], None


AttentionInterface.register(NAME, varlen_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
