"""Define the parameters that chunking adds: an adapter before each layer of a chunk, and the aggregation.

`model.wrapped_chunk_layers` holds only these: the base model's layers keep their names, and this module can be
trained or saved separately. An adapter is initialised as the identity, the mlp as its base; as published, with
`adapter_init` normal and without a base, they are random. A linear layer's `weight_init`, if it has one, replaces the
base model's initialisation of its weight.
"""

import torch
from torch import Tensor, nn
from transformers import initialization as init
from transformers.activations import ACT2FN

from workflow_scripts.core.chunk_plan import ChunkPlan


class ChunkAdapter(nn.Module):
    """The adapter x + down(act(up(x)))."""

    def __init__(self, config):
        super().__init__()
        inner = config.adapter_hidden_size or config.hidden_size
        self.up_proj = nn.Linear(config.hidden_size, inner, bias=False)
        self.down_proj = nn.Linear(inner, config.hidden_size, bias=False)
        if config.adapter_init == "identity":
            self.down_proj.weight_init = init.zeros_
        self.act_fn = ACT2FN[config.hidden_act]

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down_proj(self.act_fn(self.up_proj(x)))


class MlpAggregation(nn.Module):
    """An aggregation that concatenates the chunks' outputs, applies a linear layer and a gated MLP, and adds a base.

    Without a base this is the published form, and its linear layer has a bias.
    """

    def __init__(self, config, chunks: int):
        super().__init__()
        hidden, inner = config.hidden_size, config.intermediate_size
        self.base = config.aggregation_base
        self.proj = nn.Linear(chunks * hidden, hidden, bias=self.base == "none")
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)
        if self.base != "none":
            self.proj.weight_init = _init_mean
            self.down_proj.weight_init = init.zeros_
        self.act_fn = ACT2FN[config.hidden_act]

    def forward(self, outputs: Tensor, chunk_input: Tensor) -> Tensor:
        x = self.proj(torch.cat(tuple(outputs), dim=-1))
        x = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return x if self.base == "none" else aggregate(self.base, outputs, chunk_input) + x


def _init_mean(weight: Tensor) -> None:
    """Initialise the weight so that the layer computes the mean of the concatenated chunks."""
    hidden, concatenated = weight.shape
    chunks = concatenated // hidden
    init.copy_(weight, torch.eye(hidden).repeat(1, chunks) * (hidden / concatenated))


def aggregate(mode: str, outputs: Tensor, chunk_input: Tensor) -> Tensor:
    """Aggregate without parameters: the mean, the last, or (residual) the input plus the sum of the chunks' changes."""
    if mode == "residual":
        return outputs.sum(0) - (len(outputs) - 1) * chunk_input
    return outputs.mean(0) if mode == "mean" else outputs[-1]


class WrappedChunkLayers(nn.Module):
    """All parameters that chunking adds."""

    def __init__(self, config, plan: ChunkPlan):
        super().__init__()
        self.mode = config.aggregation_mode
        numbers = [number for chunk in plan.chunks for number in chunk]
        self.adapters = self.aggregation = None
        if config.use_adapters:
            self.adapters = nn.ModuleDict({str(n): ChunkAdapter(config) for n in numbers})
        if self.mode == "mlp":
            self.aggregation = MlpAggregation(config, len(plan.chunks))

    def forward(self, outputs: Tensor, chunk_input: Tensor) -> Tensor:
        """Aggregate the outputs of the chunks (first dimension) to one hidden state."""
        if self.aggregation is not None:
            return self.aggregation(outputs, chunk_input)
        return aggregate(self.mode, outputs, chunk_input)
