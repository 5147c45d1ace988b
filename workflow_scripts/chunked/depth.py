"""One depth of a chunked model: the k layers that stand side by side there, run as one layer.

The mathematics is that of the Llama family's decoder layer (Llama, Qwen2, Qwen3), once for all k:
batched products instead of k linear layers, and one attention call over k times the heads.

Shapes: k siblings, b rows of t tokens, n = b * t, h heads of size d.
"""

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import eager_attention_forward

from workflow_scripts.chunked import one_token
from workflow_scripts.chunked.products import Timing
from workflow_scripts.chunked.projection import Projection
from workflow_scripts.chunked.stacked import Child, Norm, Siblings

_STACKED = ("input_norm", "qkv", "head_norms", "out", "post_norm", "gate_up", "down", "adapt")


class Depth(GradientCheckpointingLayer):
    """From x [k, n, hidden] to x [k, n, hidden]; `slot` is the place of its keys in the cache."""

    def __init__(self, layer: nn.Module, slot: int, timing: Timing):
        """`layer` is one of the siblings, which are all of one shape; `prepare` names them."""
        super().__init__()
        self.slot = slot
        self.timing = timing
        attention = layer.self_attn
        self.head_dim = attention.head_dim
        self.act_fn = layer.mlp.act_fn
        self.heads = attention.q_proj.out_features // self.head_dim
        self.key_heads = attention.k_proj.out_features // self.head_dim
        # Of a model all of whose layers see a window, as Mistral 7B's first version: attention with masks has it
        # in them, and flash attention is told.
        keys, window = attention.config, None
        if getattr(keys, "layer_types", None) is None:
            window = getattr(keys, "sliding_window", None)
        self.window = {} if window is None else {"sliding_window": window}
        self.stacks: list[Siblings] = []

    def prepare(self, layers: tuple[nn.Module, ...], adapters: list[nn.Module] | None) -> None:
        """Lay the siblings' weights side by side."""
        self.siblings = layers  # a tuple, so that no parameter is registered a second time

        def of(parent: str, *names: str) -> list[list[Child]]:
            return [[(layer.get_submodule(parent), name) for name in names] for layer in layers]

        def projection(groups: list[list[Child]]) -> Projection:
            return Projection(groups, self.timing)

        self.input_norm = Norm(of("", "input_layernorm"))
        self.qkv = projection(of("self_attn", "q_proj", "k_proj", "v_proj"))
        self.head_norms = None
        if hasattr(layers[0].self_attn, "q_norm"):
            self.head_norms = Norm(of("self_attn", "q_norm")), Norm(of("self_attn", "k_norm"))
        self.out = projection(of("self_attn", "o_proj"))
        self.post_norm = Norm(of("", "post_attention_layernorm"))
        self.gate_up = projection(of("mlp", "gate_proj", "up_proj"))
        self.down = projection(of("mlp", "down_proj"))
        self.adapt = None
        if adapters is not None:
            self.adapt = (
                projection([[(adapter, "up_proj")] for adapter in adapters]),
                projection([[(adapter, "down_proj")] for adapter in adapters]),
            )
        self.stacks = [
            *(self.input_norm, self.qkv, *(self.head_norms or ())),
            *(self.out, self.post_norm, self.gate_up, self.down, *(self.adapt or ())),
        ]

    def release(self) -> None:
        """Let go of the stacks' memory, before the parameters in it are moved elsewhere."""
        self.stacks = []
        for name in _STACKED:
            self.__dict__.pop(name, None)

    def forward(self, x: Tensor, *, rows: int, step: "SharedInputs", **kwargs) -> Tensor:
        if self.adapt is not None:
            up, down = self.adapt
            x = x + down(self.act_fn(up(x)))
        x = self.out(self._attend(self.qkv(self.input_norm(x)), rows, step, **kwargs), onto=x)
        gate, up = self.gate_up(self.post_norm(x)).chunk(2, dim=-1)
        return self.down(self.act_fn(gate) * up, onto=x)

    def _attend(
        self,
        qkv: Tensor,
        rows: int,
        step: "SharedInputs",
        attention_mask: Tensor | None = None,
        past_key_values=None,
        **kwargs,
    ) -> Tensor:
        k, n, _ = qkv.shape
        qkv = qkv.view(k, n, self.heads + 2 * self.key_heads, self.head_dim)
        queries, keys, values = self._turned(qkv, rows, step)
        if past_key_values is not None:
            keys, values = past_key_values.update(keys, values, self.slot)

        module = self.siblings[0].self_attn
        if step.matrix is not None:
            out = one_token.attend(queries, keys, values, attention_mask, module.scaling)
        else:
            out, _ = step.attention(
                module,
                queries,
                keys,
                values,
                attention_mask,
                dropout=module.attention_dropout if module.training else 0.0,
                scaling=module.scaling,
                **self.window,
                **kwargs,
            )
        return out.reshape(n, k, self.heads * self.head_dim).transpose(0, 1)

    def _turned(
        self, qkv: Tensor, rows: int, step: "SharedInputs"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [b, k * h, t, d], the first two normed and turned.

        The siblings' heads stand side by side, so that a cache that reorders, repeats or crops its
        rows, as beam search does, needs to know nothing of chunks.
        """
        h, g = self.heads, self.key_heads
        if self.head_norms is not None:
            norm_queries, norm_keys = self.head_norms
            q, key, value = qkv.split((h, g, g), dim=2)
            qkv = torch.cat((norm_queries(q), norm_keys(key), value), dim=2)
        if step.matrix is not None:
            return one_token.turn(qkv, step.matrix, h, g)
        k, n, _, d = qkv.shape
        qkv = qkv.view(k, rows, n // rows, -1, d).permute(1, 0, 3, 2, 4)
        turned, values = qkv.split((h + g, g), dim=2)
        turned = torch.addcmul(turned * step.cos, turned.roll(d // 2, -1), step.sin)
        queries, keys = turned.split((h, g), dim=2)
        return queries.flatten(1, 2), keys.flatten(1, 2), values.flatten(1, 2)


class SharedInputs:
    """What all depths of one forward share: the attention function and the rotary embedding."""

    def __init__(self, config, position_embeddings: tuple[Tensor, Tensor]):
        cos, sin = position_embeddings
        name = config._attn_implementation
        self.attention = ALL_ATTENTION_FUNCTIONS.get_interface(name, eager_attention_forward)
        self.matrix = None
        on_cpu = cos.device.type == "cpu" and name in ("sdpa", "eager")
        if cos.shape[1] == 1 and on_cpu and not torch.is_grad_enabled():
            self.matrix = one_token.turning_matrix(position_embeddings)
            return
        # For [b, k, h, t, d]; the sines bear the sign that turning by half the head needs.
        self.cos, sin = cos[:, None, None], sin[:, None, None]
        low, high = sin.chunk(2, dim=-1)
        self.sin = torch.cat((-low, high), dim=-1)
