"""Attention for rows that hold several samples, with PyTorch's own kernels.

transformers keeps packed samples apart with a mask of the whole row, whose cost grows with the square
of the row. Here short neighbours share one small mask and a long sample has a call of its own, so a
row costs what its samples cost. Where flash attention runs, it does the same by itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.settings.training_keys import TrainingKeys

NAME = "packed_sdpa"
NO_MASK = torch.ones(1, 1, 1, 1, dtype=torch.bool)  # taken for a finished mask, and passed through
_TOGETHER = 512  # tokens of short samples that share a mask


@dataclass(frozen=True)
class Stretch:
    """Neighbouring samples of a row, attended to in one call; one sample needs no mask."""

    start: int
    end: int
    mask: Tensor | None


def stretches(lengths: list[int], device: torch.device) -> list[Stretch]:
    """The row cut between samples into stretches of up to so many tokens, or one sample."""
    groups: list[list[int]] = []
    for length in lengths:
        if groups and sum(groups[-1]) + length <= _TOGETHER:
            groups[-1].append(length)
        else:
            groups.append([length])
    found, start = [], 0
    for group in groups:
        end = start + sum(group)
        found.append(Stretch(start, end, None if len(group) == 1 else _mask(group, device)))
        start = end
    return found


def _mask(lengths: list[int], device: torch.device) -> Tensor:
    blocks = [torch.ones(n, n, dtype=torch.bool, device=device).tril() for n in lengths]
    return torch.block_diag(*blocks)[None, None]


def packed_attention(
    module, query: Tensor, key: Tensor, value: Tensor, attention_mask, *, stretches=None, **kwargs
) -> tuple[Tensor, None]:
    """transformers' sdpa attention, stretch by stretch; without stretches it is just that.

    The mask that comes with stretches is a stand-in, so that transformers makes none of the whole row.
    """
    if stretches is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    outputs = []
    for stretch in stretches:
        q, k, v = (x[:, :, stretch.start : stretch.end] for x in (query, key, value))
        outputs.append(sdpa_attention_forward(module, q, k, v, stretch.mask, **kwargs)[0])
    return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)), None


AttentionInterface.register(NAME, packed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


def choose_packing(model, keys: TrainingKeys) -> str:
    """How the samples of a row are kept apart, tried out on this model; none where that fails.

    stretches: the function above; flash: flash attention's own way; row: transformers' mask.
    """
    if not keys.packing:
        return "none"
    found = model.config._attn_implementation
    if found == "flash_attention_2":
        way = "flash"
    elif found == "sdpa" and not (keys.compile or _looks_through_windows(model, keys.max_length)):
        model.set_attn_implementation(NAME)
        way = "stretches"
    else:
        way = "row"
    if (difference := _seen_by_another(model, way)) > _ALIKE[model.dtype == torch.float32]:
        print(
            f"Packed samples of this model see one another (loss off by {difference:.1e}): padding."
        )
        model.set_attn_implementation(found)
        return "none"
    return way


_ALIKE = {True: 1e-4, False: 3e-2}


def _looks_through_windows(model, max_length: int) -> bool:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    return window is not None and window < max_length and "sliding_attention" in kinds


def _seen_by_another(model, way: str) -> float:
    """How far the loss of a sample moves when another stands before it in the row."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.arange(7, 7 + 48, device=model.device)[None] % vocabulary
    first, second = tokens[:, :16], tokens[:, 16:]
    positions = torch.cat([torch.arange(16), torch.arange(32)])[None].to(model.device)
    extra = {}
    if way == "stretches":
        extra = {
            "attention_mask": NO_MASK.to(model.device),
            "stretches": stretches([16, 32], model.device),
        }
    with torch.no_grad():
        alone = model(input_ids=second, use_cache=False).logits
        packed = model(input_ids=tokens, position_ids=positions, use_cache=False, **extra).logits
    return float((alone - packed[:, first.shape[1] :]).abs().max() / alone.abs().max())
