"""Compute attention within each sample of a packed row, with PyTorch's kernels.

transformers separates packed samples with a mask of the whole row, and its cost is quadratic in the row's length.
Here a row is cut into stretches: neighbouring short samples, which share a small mask, or one long sample. Each has its
own attention call, so a row costs as much as its samples.
"""

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.settings.training_keys import TrainingKeys

NAME = "packed_sdpa"
# Maximum tokens of short samples that share a mask. Most of a mask is wasted; on a GPU this costs less than further
# calls, on a CPU more.
_MAX_STRETCH = {"cpu": 128, "cuda": 512}
# Maximum tokens of attention by matrix products, which keeps all weights for the gradient: a fifth faster at 512.
_MAX_PRODUCT = 512
# Largest relative change of logits by a preceding sample that rounding explains, in float32 and in 16 bits.
_TOLERANCE, _TOLERANCE_16_BITS = 1e-4, 3e-2

# Neighbouring samples of a row that share an attention call: the number of their tokens, and their mask.
Stretch = tuple[int, Tensor | None]


def _cut_stretches(lengths: list[int], device: torch.device, dtype: torch.dtype) -> list[Stretch]:
    """Cut a row of samples with these lengths into stretches of limited size; a longer sample is one stretch."""
    groups: list[list[int]] = []
    for length in lengths:
        if groups and sum(groups[-1]) + length <= _MAX_STRETCH.get(device.type, 512):
            groups[-1].append(length)
        else:
            groups.append([length])
    return [(sum(group), _make_mask(group, device, dtype)) for group in groups]


def _make_mask(lengths: list[int], device: torch.device, dtype: torch.dtype) -> Tensor | None:
    """Make the mask of a kernel, None for one sample; where matrix products are faster, values to add to scores."""
    # PyTorch's kernel for CPUs does not use the processor's products of bfloat16.
    is_kernel_slow = device.type == "cpu" and dtype == torch.bfloat16
    adds = is_kernel_slow and sum(lengths) <= _MAX_PRODUCT
    if len(lengths) == 1 and not adds:
        return None
    blocks = [torch.ones(n, n, dtype=torch.bool, device=device).tril() for n in lengths]
    mask = torch.block_diag(*blocks)[None, None]
    return mask.to(dtype).log() if adds else mask


def attend_packed(
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask,
    *,
    stretches: list[Stretch] | None = None,
    **kwargs,
) -> tuple[Tensor, None]:
    """Compute attention within each stretch of a row, or transformers' sdpa attention without stretches."""
    if stretches is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    lengths = [length for length, _ in stretches]
    # Autocast leaves query and key of a float32 model in float32.
    # The gradient of `split` is one tensor; the gradient of each slice would be as long as the row.
    tensors = (tensor.to(value.dtype).split(lengths, dim=2) for tensor in (query, key, value))
    scale = kwargs.get("scaling") or query.shape[-1] ** -0.5
    outputs = []
    for *part, (_, mask) in zip(*tensors, stretches, strict=True):
        if mask is None or mask.dtype == torch.bool or kwargs.get("dropout"):
            output, _ = sdpa_attention_forward(module, *part, mask, **kwargs)
        else:
            output = _multiply(*part, mask=mask, scale=scale)
        outputs.append(output)
    return torch.cat(outputs, dim=1), None


def _multiply(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor, scale: float) -> Tensor:
    """Compute attention by matrix products."""
    with torch.autocast("cpu", enabled=False):
        scores = (query * scale).unflatten(1, (key.shape[1], -1)) @ key[:, :, None].mT
        output = (scores + mask).softmax(-1) @ value[:, :, None]
    return output.flatten(1, 2).transpose(1, 2)


AttentionInterface.register(NAME, attend_packed)
AttentionMaskInterface.register(NAME, sdpa_mask)


def get_packing_arguments(model, lengths: list[int]) -> dict[str, Any]:
    """Return the model's additional arguments for a packed row, from the lengths of its samples."""
    device = model.device
    if model.config._attn_implementation != NAME:
        return {}
    # transformers passes a 4D mask through, and so does not build one for the whole row.
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)
    casts = torch.is_autocast_enabled(device.type)
    dtype = torch.get_autocast_dtype(device.type) if casts else model.dtype
    return {"attention_mask": mask, "stretches": _cut_stretches(lengths, device, dtype)}


def remove_packing(model) -> None:
    """Restore the usual attention of a model that was trained on packed rows."""
    if model.config._attn_implementation == NAME:
        model.set_attn_implementation("sdpa")


def choose_packing(model, keys: TrainingKeys) -> str:
    """Choose how to separate the samples of a row, and test it on this model; return "none" if the test fails.

    stretches: small masks; row: transformers' mask, derived from the positions.
    """
    if not keys.packing:
        return "none"
    attention = model.config._attn_implementation
    window = getattr(model.config.get_text_config(), "sliding_window", None)
    packing = "row"
    if attention == "sdpa" and window is None:
        packing = "stretches"
        model.set_attn_implementation(NAME)
    difference = _measure_leak(model)
    if difference <= (_TOLERANCE if model.dtype == torch.float32 else _TOLERANCE_16_BITS):
        return packing
    print(
        "Packed samples of this model attend to one another"
        f" (logits change by {difference:.1e}); its samples are padded instead."
    )
    model.set_attn_implementation(attention)
    return "none"


@torch.no_grad()
def _measure_leak(model) -> float:
    """Measure the change of the logits of a 32-token sample when a 16-token sample precedes it in the row."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.arange(7, 7 + 48, device=model.device)[None] % vocabulary
    positions = torch.cat([torch.arange(16), torch.arange(32)])[None].to(model.device)
    arguments = get_packing_arguments(model, [16, 32])
    packed = model(input_ids=tokens, position_ids=positions, use_cache=False, **arguments).logits
    alone = model(input_ids=tokens[:, 16:], use_cache=False).logits
    return float((alone - packed[:, 16:]).abs().max() / alone.abs().max())
