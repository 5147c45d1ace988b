"""Attention for rows that hold several samples, with PyTorch's own kernels.

transformers keeps packed samples apart with a mask of the whole row, whose cost grows with the square
of the row. Here short neighbours share one small mask and a long sample has a call of its own, so a
row costs what its samples cost. On a GPU one call of PyTorch's does that (`varlen.py`), or of flash-attn's where
that is asked for.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training import varlen

NAME = "packed_sdpa"
_FLASH = "flash_attention_2"
_OWN = {"varlen": varlen.NAME, "stretches": NAME}
# Tokens of short samples that share a mask, most of which is of no use to any: a call costs more than that
# on a GPU and less on a CPU.
_MAX_STRETCH, _MAX_STRETCH_ON_A_CPU = 512, 128
# How far logits may move when another sample stands before; in 16 bits they are rounded.
_TOLERANCE, _TOLERANCE_IN_16_BITS = 1e-4, 3e-2


@dataclass(frozen=True)
class Stretch:
    """Neighbouring samples of a row, attended to in one call; one sample needs no mask."""

    start: int
    end: int
    mask: Tensor | None


def cut_stretches(lengths: list[int], device: torch.device) -> list[Stretch]:
    """Cut a row between samples into stretches of up to so many tokens, or one sample."""
    groups: list[list[int]] = []
    longest = _MAX_STRETCH_ON_A_CPU if device.type == "cpu" else _MAX_STRETCH
    for length in lengths:
        if groups and sum(groups[-1]) + length <= longest:
            groups[-1].append(length)
        else:
            groups.append([length])
    stretches, start = [], 0
    for group in groups:
        end = start + sum(group)
        stretches.append(Stretch(start, end, None if len(group) == 1 else _mask(group, device)))
        start = end
    return stretches


def _mask(lengths: list[int], device: torch.device) -> Tensor:
    blocks = [torch.ones(n, n, dtype=torch.bool, device=device).tril() for n in lengths]
    return torch.block_diag(*blocks)[None, None]


def packed_attention(
    module, query: Tensor, key: Tensor, value: Tensor, attention_mask, *, stretches=None, **kwargs
) -> tuple[Tensor, None]:
    """Run transformers' sdpa attention stretch by stretch; without stretches it is just that."""
    if stretches is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    outputs = []
    for stretch in stretches:
        q, k, v = (x[:, :, stretch.start : stretch.end] for x in (query, key, value))
        outputs.append(sdpa_attention_forward(module, q, k, v, stretch.mask, **kwargs)[0])
    return torch.cat(outputs, dim=1), None


AttentionInterface.register(NAME, packed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


def packing_arguments(model, lengths: list[int]) -> dict[str, Any]:
    """Return what a model that packs is called with besides tokens and positions: where its samples end."""
    device, attention = model.device, model.config._attn_implementation
    ends = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32).to(device, non_blocking=True)
    # Taken for a finished mask, and passed through, so that transformers makes none of the whole row.
    no_mask = {"attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)}
    if attention == varlen.NAME:
        return no_mask | {"ends": ends, "longest": max(lengths)}
    if attention == NAME:
        return no_mask | {"stretches": cut_stretches(lengths, device)}
    if attention == _FLASH:
        return {
            "cu_seq_lens_q": ends,
            "cu_seq_lens_k": ends,
            "max_length_q": max(lengths),
            "max_length_k": max(lengths),
        }
    return {}


def remove_packing(model) -> None:
    """Have a model attend as any other, after it was trained on packed rows."""
    if model.config._attn_implementation in _OWN.values():
        model.set_attn_implementation("sdpa")


def choose_packing(model, keys: TrainingKeys) -> str:
    """Choose how the samples of a row are kept apart, and try it on this model; none where that fails.

    varlen: PyTorch's kernel for it; stretches: the function above; flash: flash attention's own arguments;
    row: transformers' mask.
    """
    if not keys.packing:
        return "none"
    attention = model.config._attn_implementation
    kind = "row"
    if attention == _FLASH:
        kind = "flash"
    elif attention == "sdpa" and not keys.compile:
        if varlen.fits(model):
            kind = "varlen"
        elif not _has_windows(model, keys.max_length):
            kind = "stretches"
    if kind in _OWN:
        model.set_attn_implementation(_OWN[kind])
    difference = _measure_leak(model)
    if difference <= (_TOLERANCE if model.dtype == torch.float32 else _TOLERANCE_IN_16_BITS):
        return kind
    print(f"Packed samples of this model see one another (off by {difference:.1e}): padding.")
    model.set_attn_implementation(attention)
    return "none"


def _has_windows(model, max_length: int) -> bool:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    return window is not None and window < max_length and "sliding_attention" in kinds


@torch.no_grad()
def _measure_leak(model) -> float:
    """Measure how far the logits of a sample of 32 tokens move when one of 16 stands before it in the row."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.arange(7, 7 + 48, device=model.device)[None] % vocabulary
    positions = torch.cat([torch.arange(16), torch.arange(32)])[None].to(model.device)
    apart = packing_arguments(model, [16, 32])
    packed = model(input_ids=tokens, position_ids=positions, use_cache=False, **apart).logits
    alone = model(input_ids=tokens[:, 16:], use_cache=False).logits
    return float((alone - packed[:, 16:]).abs().max() / alone.abs().max())
