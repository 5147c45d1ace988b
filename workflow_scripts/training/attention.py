"""Attention for rows that hold several samples, with PyTorch's own kernels.

transformers keeps packed samples apart with a mask of the whole row, whose cost grows with the square
of the row. Here short neighbours share one small mask and a long sample has a call of its own, so a
row costs what its samples cost. On a GPU one call of PyTorch's does that (`varlen.py`), or of flash-attn's where
that is asked for, told where the samples end once for all layers.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.core.machine import machine_problem
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training import varlen
from workflow_scripts.training.precision import calculates_in

NAME = "packed_sdpa"
_PACKED = (NAME, varlen.NAME)
_FLASH = "flash_attention_2"
# Tokens of short samples that share a mask, most of which is of no use to any: a call costs more than that
# on a GPU and less on a CPU.
_TOGETHER, _TOGETHER_ON_A_CPU = 512, 128


@dataclass(frozen=True)
class Stretch:
    """Neighbouring samples of a row, attended to in one call; one sample needs no mask."""

    start: int
    end: int
    mask: Tensor | None


def stretches(lengths: list[int], device: torch.device) -> list[Stretch]:
    """Cut a row between samples into stretches of up to so many tokens, or one sample."""
    groups: list[list[int]] = []
    most = _TOGETHER_ON_A_CPU if device.type == "cpu" else _TOGETHER
    for length in lengths:
        if groups and sum(groups[-1]) + length <= most:
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


def rows_apart(model, lengths: list[int], ends: Tensor) -> dict[str, Any]:
    """What a model that packs is called with besides tokens and positions: where its samples end.

    Lengths are known on the CPU, and the same ends, from 0 on, where the model is: asking a GPU would wait.
    """
    device, longest = ends.device, max(lengths)
    # Taken for a finished mask, and passed through.
    no_mask = {"attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)}
    attention = model.config._attn_implementation
    if attention == varlen.NAME:
        return no_mask | {"ends": ends, "longest": longest}
    if attention == NAME:
        return no_mask | {"stretches": stretches(lengths, device)}
    if attention == _FLASH:
        found = {"cu_seq_lens": ends, "max_length": longest}
        return {f"{name}_{of}": value for name, value in found.items() for of in "qk"}
    return {}


def without_packing(model) -> None:
    """Have a model attend as any other, after it was trained on packed rows."""
    if model.config._attn_implementation in _PACKED:
        model.set_attn_implementation("sdpa")


def choose_packing(model, keys: TrainingKeys) -> str:
    """How the samples of a row are kept apart, tried out on this model; none where that fails.

    varlen: PyTorch's kernel for it; stretches: the function above; flash: flash attention's own arguments;
    row: transformers' mask.
    """
    if not keys.packing:
        return "none"
    found = model.config._attn_implementation
    own = found == "sdpa" and not keys.compile
    possible = {
        "flash": found == _FLASH,
        "varlen": own and varlen.fits(model),
        "stretches": own and not _looks_through_windows(model, keys.max_length),
        "row": True,
    }
    for kind in (kind for kind, runs in possible.items() if runs):
        if kind in _OWN:
            model.set_attn_implementation(_OWN[kind])
        try:
            difference = _seen_by_another(model)
            if kind == "varlen":
                _differentiate(model)
        except RuntimeError as error:
            if kind != "varlen" or machine_problem(error):
                raise
            print(f"PyTorch's kernel for packed rows cannot run this model ({error}).")
            continue
        if difference <= _ALIKE[calculates_in(model) == torch.float32]:
            return kind
        print(
            f"Packed samples of this model see one another (loss off by {difference:.1e}): padding."
        )
        break
    model.set_attn_implementation(found)
    return "none"


_OWN = {"varlen": varlen.NAME, "stretches": NAME}
_ALIKE = {True: 1e-4, False: 3e-2}


def _looks_through_windows(model, max_length: int) -> bool:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    return window is not None and window < max_length and "sliding_attention" in kinds


def _seen_by_another(model) -> float:
    """How far the logits of a sample move when another stands before it in the row."""
    row = _row_of_two(model)
    with torch.no_grad():
        alone = model(input_ids=row["input_ids"][:, 16:], use_cache=False).logits
        packed = model(**row, use_cache=False).logits
    return float((alone - packed[:, 16:]).abs().max() / alone.abs().max())


def _differentiate(model) -> None:
    """A kernel may go forward and not back; gradients of weights, which need room, are not made."""
    embedded: list[Tensor] = []

    def keep(_module, _inputs, output: Tensor) -> None:
        embedded.append(output if output.requires_grad else output.requires_grad_())

    handle = model.get_input_embeddings().register_forward_hook(keep)
    try:
        logits = model(**_row_of_two(model), use_cache=False).logits
    finally:
        handle.remove()
    torch.autograd.grad(logits.sum(), embedded)


def _row_of_two(model) -> dict[str, Any]:
    """A sample of 16 tokens and one of 32, as a step has them."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.arange(7, 7 + 48, device=model.device)[None] % vocabulary
    positions = torch.cat([torch.arange(16), torch.arange(32)])[None].to(model.device)
    ends = torch.tensor([0, 16, 48], dtype=torch.int32, device=model.device)
    apart = rows_apart(model, [16, 32], ends)
    return {"input_ids": tokens, "position_ids": positions, **apart}
