"""Attention for rows that hold several samples, with PyTorch's own kernels.

transformers keeps packed samples apart with a mask of the whole row, whose cost grows with the square of the row.
Here short neighbours share one small mask and a long sample has a call of its own, so a row costs what its samples
cost. On a GPU one call of PyTorch's varlen kernel does that.
"""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.hub.load import is_ampere_or_newer
from workflow_scripts.settings.training_keys import TrainingKeys

NAME, VARLEN = "packed_sdpa", "packed_varlen"
_OWN = {"varlen": VARLEN, "stretches": NAME}
# Tokens of short samples that share a mask, most of which is of no use to any: a call costs more than that
# on a GPU and less on a CPU.
_MAX_STRETCH, _MAX_STRETCH_ON_A_CPU = 512, 128
_MAX_HEAD_DIM = 256  # of the varlen kernel, which has neither dropout nor caps
_UNSUPPORTED = ("attention_dropout", "attn_pdrop", "attn_logit_softcapping")
# How far logits may move when another sample stands before; in 16 bits they are rounded.
_TOLERANCE, _TOLERANCE_IN_16_BITS = 1e-4, 3e-2


Stretch = tuple[slice, Tensor | None]  # neighbouring samples of a row, and their mask


def cut_stretches(lengths: list[int], device: torch.device) -> list[Stretch]:
    """Cut a row between samples into stretches of up to so many tokens, or one sample, which needs no mask."""
    groups: list[list[int]] = []
    longest = _MAX_STRETCH_ON_A_CPU if device.type == "cpu" else _MAX_STRETCH
    for length in lengths:
        if groups and sum(groups[-1]) + length <= longest:
            groups[-1].append(length)
        else:
            groups.append([length])
    stretches: list[Stretch] = []
    start = 0
    for group in groups:
        part = slice(start, start + sum(group))
        stretches.append((part, None if len(group) == 1 else _mask(group, device)))
        start = part.stop
    return stretches


def _mask(lengths: list[int], device: torch.device) -> Tensor:
    blocks = [torch.ones(n, n, dtype=torch.bool, device=device).tril() for n in lengths]
    return torch.block_diag(*blocks)[None, None]


def varlen_kernel(*arguments, **options) -> Tensor:
    """Call PyTorch's kernel; tests put a plain one with the same arguments in its place."""
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn(*arguments, **options)


def supports_varlen(model) -> bool:
    """Return whether the kernel can do what this model needs, on the device where it is."""
    config = model.config.get_text_config()
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return (
        model.device.type == "cuda"
        and is_ampere_or_newer()
        and model.dtype in (torch.bfloat16, torch.float16)
        and width <= _MAX_HEAD_DIM
        and width % 8 == 0
        and not any(getattr(config, name, None) for name in _UNSUPPORTED)
    )


def packed_attention(
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask,
    *,
    stretches: list[Stretch] | None = None,
    ends: Tensor | None = None,
    longest: int = 0,
    **kwargs,
) -> tuple[Tensor, None]:
    """Attend within each sample of a row; where no samples are given it is transformers' sdpa attention."""
    if ends is not None:
        return _attend_varlen(query, key, value, ends, longest, **kwargs), None
    if stretches is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    outputs = []
    for part, mask in stretches:
        q, k, v = (x[:, :, part] for x in (query, key, value))
        outputs.append(sdpa_attention_forward(module, q, k, v, mask, **kwargs)[0])
    return torch.cat(outputs, dim=1), None


def _attend_varlen(
    query: Tensor, key: Tensor, value: Tensor, ends: Tensor, longest: int, **kwargs
) -> Tensor:
    kind = query.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else query.dtype
    q, k, v = (x[0].transpose(0, 1).to(dtype) for x in (query, key, value))
    window = kwargs.get("sliding_window")
    options = {
        "scale": kwargs.get("scaling"),
        "window_size": (window - 1 if window else -1, 0),
        "enable_gqa": q.shape[1] != k.shape[1],
    }
    return varlen_kernel(q, k, v, ends, ends, longest, longest, **options)[None]


for _name in _OWN.values():
    AttentionInterface.register(_name, packed_attention)
    AttentionMaskInterface.register(_name, sdpa_mask)


def packing_arguments(model, lengths: list[int]) -> dict[str, Any]:
    """Return what a model that packs is called with besides tokens and positions: where its samples end."""
    device, attention = model.device, model.config._attn_implementation
    if attention not in _OWN.values():
        return {}
    # Taken for a finished mask, and passed through, so that transformers makes none of the whole row.
    no_mask = {"attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)}
    if attention == VARLEN:
        ends = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
        ends = ends.to(device, non_blocking=True)
        return no_mask | {"ends": ends, "longest": max(lengths)}
    return no_mask | {"stretches": cut_stretches(lengths, device)}


def remove_packing(model) -> None:
    """Have a model attend as any other, after it was trained on packed rows."""
    if model.config._attn_implementation in _OWN.values():
        model.set_attn_implementation("sdpa")


def choose_packing(model, keys: TrainingKeys) -> str:
    """Choose how the samples of a row are kept apart, and try it on this model; none where that fails.

    varlen: PyTorch's kernel for it; stretches: small masks; row: what transformers makes of the positions.
    """
    if not keys.packing:
        return "none"
    attention = model.config._attn_implementation
    kind = "row"
    if attention == "sdpa" and not keys.compile:
        if supports_varlen(model):
            kind = "varlen"
        elif getattr(model.config.get_text_config(), "sliding_window", None) is None:
            kind = "stretches"
    if kind in _OWN:
        model.set_attn_implementation(_OWN[kind])
    difference = _measure_leak(model)
    if difference <= (_TOLERANCE if model.dtype == torch.float32 else _TOLERANCE_IN_16_BITS):
        return kind
    print(f"Packed samples of this model see one another (off by {difference:.1e}): padding.")
    model.set_attn_implementation(attention)
    return "none"


@torch.no_grad()
def _measure_leak(model) -> float:
    """Measure how far the logits of a sample of 32 tokens move when one of 16 stands before it in the row."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.arange(7, 7 + 48, device=model.device)[None] % vocabulary
    positions = torch.cat([torch.arange(16), torch.arange(32)])[None].to(model.device)
    arguments = packing_arguments(model, [16, 32])
    packed = model(input_ids=tokens, position_ids=positions, use_cache=False, **arguments).logits
    alone = model(input_ids=tokens[:, 16:], use_cache=False).logits
    return float((alone - packed[:, 16:]).abs().max() / alone.abs().max())
