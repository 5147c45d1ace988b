"""Fuse the k layers at one depth of a chunked model, one of each chunk, into one layer.

This implements the decoder layer of the Llama family (Llama, Mistral, Qwen2, Qwen3) for all k at once: batched products
instead of k linear layers, and one attention call with k times the heads.

Shapes: k siblings, b rows of t tokens, n = b * t, h query heads and g key heads of size d.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import eager_attention_forward

from workflow_scripts.chunked.stacked import Norm, Projection


class FusedLayer(GradientCheckpointingLayer):
    """k sibling layers as one, from x [k, n, hidden] to x [k, n, hidden]; `cache_index` is its place in the cache."""

    def __init__(self, layer: nn.Module, cache_index: int):
        """Read the shapes of `layer`, one of the siblings; `prepare` sets all siblings."""
        super().__init__()
        self.cache_index = cache_index
        attention = layer.self_attn
        self.head_dim = attention.head_dim
        self.act_fn = layer.mlp.act_fn
        self.num_heads = attention.q_proj.out_features // self.head_dim
        self.num_key_heads = attention.k_proj.out_features // self.head_dim
        # If all layers have a sliding window (first version of Mistral 7B), masks contain it, but flash attention
        # needs it as an argument.
        self.window_options: dict[str, int] = {}
        window = getattr(attention.config, "sliding_window", None)
        if window is not None and getattr(attention.config, "layer_types", None) is None:
            self.window_options = {"sliding_window": window}
        self.stacks: dict[str, Any] = {}  # Norms and Projections

    def prepare(self, layers: tuple[nn.Module, ...], adapters: list[nn.Module] | None) -> None:
        """Stack the siblings' weights."""
        self.siblings = layers  # a tuple, so that torch does not register the layers twice

        def find(*names: str) -> list[list[nn.Module]]:
            return [[layer.get_submodule(name) for name in names] for layer in layers]

        self.stacks = {
            "input_norm": Norm(find("input_layernorm")),
            "qkv": Projection(find("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
            "out": Projection(find("self_attn.o_proj")),
            "post_norm": Norm(find("post_attention_layernorm")),
            "gate_up": Projection(find("mlp.gate_proj", "mlp.up_proj")),
            "down": Projection(find("mlp.down_proj")),
        }
        if hasattr(layers[0].self_attn, "q_norm"):
            self.stacks["query_norm"] = Norm(find("self_attn.q_norm"))
            self.stacks["key_norm"] = Norm(find("self_attn.k_norm"))
        if adapters is not None:
            self.stacks["adapter_up"] = Projection([[adapter.up_proj] for adapter in adapters])
            self.stacks["adapter_down"] = Projection([[adapter.down_proj] for adapter in adapters])

    def forward(self, x: Tensor, *, rows: int, inputs: "SharedInputs", **kwargs) -> Tensor:
        stacks = self.stacks
        if "adapter_up" in stacks:
            x = x + stacks["adapter_down"](self.act_fn(stacks["adapter_up"](x)))
        qkv = stacks["qkv"](stacks["input_norm"](x))
        x = stacks["out"](self._attend(qkv, rows, inputs, **kwargs), residual=x)
        gate, up = stacks["gate_up"](stacks["post_norm"](x)).chunk(2, dim=-1)
        return stacks["down"](self.act_fn(gate) * up, residual=x)

    def _attend(
        self,
        qkv: Tensor,
        rows: int,
        inputs: "SharedInputs",
        attention_mask: Tensor | None = None,
        past_key_values=None,
        **kwargs,
    ) -> Tensor:
        k, n, _ = qkv.shape
        queries, keys, values = self._rotate(qkv, rows, inputs)
        if past_key_values is not None:
            keys, values = past_key_values.update(keys, values, self.cache_index)
        module = self.siblings[0].self_attn
        out, _ = inputs.attention(
            module,
            queries,
            keys,
            values,
            attention_mask,
            dropout=module.attention_dropout if module.training else 0.0,
            scaling=module.scaling,
            **self.window_options,
            **kwargs,
        )
        return out.reshape(n, k, self.num_heads * self.head_dim).transpose(0, 1)

    def _rotate(
        self, qkv: Tensor, rows: int, inputs: "SharedInputs"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries [b, k * h, t, d], and keys and values [b, k * g, t, d].

        Queries and keys are normed, if the model has such norms, and rotated. The siblings' heads are concatenated, so
        that a cache can reorder, repeat or crop its rows, as in beam search.
        """
        k, n, _ = qkv.shape
        h, g, d = self.num_heads, self.num_key_heads, self.head_dim
        qkv = qkv.view(k, n, h + 2 * g, d)
        if "query_norm" in self.stacks:
            queries, keys, values = qkv.split((h, g, g), dim=2)
            queries, keys = self.stacks["query_norm"](queries), self.stacks["key_norm"](keys)
            qkv = torch.cat((queries, keys, values), dim=2)
        qkv = qkv.view(k, rows, n // rows, -1, d).permute(1, 0, 3, 2, 4)
        rotated, values = qkv.split((h + g, g), dim=2)
        rotated = torch.addcmul(rotated * inputs.cos, rotated.roll(d // 2, -1), inputs.sin)
        queries, keys = rotated.split((h, g), dim=2)
        return queries.flatten(1, 2), keys.flatten(1, 2), values.flatten(1, 2)


class SharedInputs:
    """The attention function and the rotary embedding, shared by all depths of a forward pass."""

    def __init__(self, config, position_embeddings: tuple[Tensor, Tensor]):
        cos, sin = position_embeddings
        self.attention = ALL_ATTENTION_FUNCTIONS.get_interface(
            config._attn_implementation, eager_attention_forward
        )
        # Shaped for [b, k, h, t, d]; the sines include the signs of the half-head rotation.
        self.cos, sin = cos[:, None, None], sin[:, None, None]
        low, high = sin.chunk(2, dim=-1)
        self.sin = torch.cat((-low, high), dim=-1)
