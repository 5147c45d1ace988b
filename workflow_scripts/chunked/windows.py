"""Models of which some layers see a window and others all, as Gemma 2: each layer takes the mask of its own kind.

The base model's forward gives each place in its list of layers the mask of that place. A stage of a plan may hold
layers of both kinds, so it is given all masks, and each layer takes its own when it is called.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers import Cache, PreTrainedConfig
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask

from workflow_scripts.core.errors import UserError


class MasksOfLayers(dict):
    """By kind of layer; whatever place the base model asks for, it is given all."""

    def __getitem__(self, kind: str) -> "MasksOfLayers":
        return self


def masks_of_layers(
    config: PreTrainedConfig,
    inputs_embeds: Tensor,
    attention_mask: Tensor | dict[str, Tensor] | None,
    position_ids: Tensor | None,
    past_key_values: Cache | None,
) -> MasksOfLayers:
    if isinstance(attention_mask, dict):  # as `generate` prepares them
        return MasksOfLayers(attention_mask)
    given: dict[str, Any] = {
        "config": config,
        "inputs_embeds": inputs_embeds,
        "attention_mask": attention_mask,
        "position_ids": position_ids,
        "past_key_values": past_key_values,
    }
    return MasksOfLayers(
        full_attention=create_causal_mask(**given),
        sliding_attention=create_sliding_window_causal_mask(**given),
    )


def takes_its_own_mask(
    layer, inputs: tuple, kwargs: dict[str, Any]
) -> tuple[tuple, dict[str, Any]]:
    """Put before a layer as a hook."""
    masks = kwargs.get("attention_mask")
    if isinstance(masks, MasksOfLayers):
        kwargs["attention_mask"] = masks.get(layer.self_attn.layer_type)
    return inputs, kwargs


def slots_of(order: Sequence[int], kinds: Sequence[str]) -> dict[int, int]:
    """Where in the cache each layer keeps what it has seen: one after the other as they run, each in a place of its
    kind, as a cache has other places for layers that see a window.
    """
    places = {kind: iter([at for at, one in enumerate(kinds) if one == kind]) for kind in kinds}
    slots = {number: next(places[kinds[number]]) for number in order}
    if 0 not in slots.values():  # which is asked how long the text is
        raise UserError(
            f"layers_to_prune names all layers of the kind {kinds[0]}; expected one of them to stay, as the"
            " first layer is one."
        )
    return slots
