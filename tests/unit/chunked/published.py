"""Folders as the published code saves them, made by hand, and what a model of their weights computes.

Nothing here comes from our own classes: names, shapes and sums are those of the published README and
of its modules, `chunk_layers_<chunk>.adapter_<place>` and `aggregation_head`.
"""

import json
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from tests.tiny_models import base_model, edit_config

HIDDEN, INNER, LAYERS, ROPE = 32, 40, 6, 1e6
WRAPPER = "model.wrapped_chunk_layers"
# What runs before the chunks, the chunks, and what runs behind them.
PLANS = {
    "uniform_with_shared_start_and_end": ([0], [[1, 3], [2, 4]], [5]),
    "sequential_with_shared_start_and_end": ([0], [[1, 2], [3, 4]], [5]),
    "uniform": ([], [[0, 3], [1, 4], [2, 5]], []),
    "sequential_with_shared_start": ([0, 1], [[2, 3], [4, 5]], []),
}


@dataclass
class Published:
    """A model of the published code: a base model, a plan, and the weights that chunking adds."""

    family: str = "qwen2"
    mode: str = "uniform_with_shared_start_and_end"
    aggregation: str = "mlp"
    adapters: bool = True
    weights: dict = field(default_factory=dict)

    def __post_init__(self):
        self.base = base_model(self.family, LAYERS)
        self.base.config.rope_parameters["rope_theta"] = ROPE
        rotary = type(self.base.model.rotary_emb)
        self.base.model.rotary_emb = rotary(self.base.config)
        _, chunks, _ = PLANS[self.mode]

        def fresh(*shape):
            return torch.randn(*shape) * 0.15

        if self.adapters:
            for chunk, numbers in enumerate(chunks):
                for place in range(len(numbers)):
                    name = f"{WRAPPER}.chunk_layers_{chunk}.adapter_{place}"
                    self.weights[f"{name}.up_proj.weight"] = fresh(INNER, HIDDEN)
                    self.weights[f"{name}.down_proj.weight"] = fresh(HIDDEN, INNER)
        if self.aggregation == "mlp":
            head = f"{WRAPPER}.aggregation_head"
            self.weights |= {
                f"{head}.linear.weight": fresh(HIDDEN, len(chunks) * HIDDEN),
                f"{head}.linear.bias": fresh(HIDDEN),
                f"{head}.mlp.gate_proj.weight": fresh(INNER, HIDDEN),
                f"{head}.mlp.up_proj.weight": fresh(INNER, HIDDEN),
                f"{head}.mlp.down_proj.weight": fresh(HIDDEN, INNER),
            }

    def save(self, folder):
        """One file of weights, with its config.json in the words of transformers 4."""
        self.base.save_pretrained(folder)
        path = folder / "config.json"
        new = {"rope_parameters", "layer_types", "dtype"}
        old = {key: value for key, value in json.loads(path.read_text()).items() if key not in new}
        path.write_text(json.dumps(old))
        edit_config(
            folder,
            **{"rope_theta": ROPE, "rope_scaling": None, "torch_dtype": "float32"},
            **{"sliding_window": 32768, "use_sliding_window": False, "max_window_layers": 3},
            architectures=["Qwen2ChunkingForCausalLM"],
            model_type=f"{self.family}_chunking",
            num_layers_per_chunk=2,
            num_chunks=2,
            chunking_mode=self.mode,
            aggregation_mode=self.aggregation,
            use_adapters=self.adapters,
            adapter_hidden_size=7,  # which the published code never reads
        )
        weights = folder / "model.safetensors"
        save_file(load_file(weights) | self.weights, weights, metadata={"format": "pt"})
        return folder

    @torch.no_grad()
    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """Every row alone, layer after layer, chunk after chunk."""
        return torch.cat([self._one(row[None]) for row in ids])

    def _one(self, row: torch.Tensor) -> torch.Tensor:
        base, weights = self.base.model, self.weights
        tokens = row.shape[1]
        x = base.embed_tokens(row)
        rotary = base.rotary_emb(x, torch.arange(tokens)[None])
        causal = torch.full((tokens, tokens), torch.finfo(x.dtype).min).triu(1)[None, None]

        def layer(number, x):
            return base.layers[number](x, attention_mask=causal, position_embeddings=rotary)

        before, chunks, behind = PLANS[self.mode]
        for number in before:
            x = layer(number, x)
        outputs = []
        for chunk, numbers in enumerate(chunks):
            y = x
            for place, number in enumerate(numbers):
                if self.adapters:
                    name = f"{WRAPPER}.chunk_layers_{chunk}.adapter_{place}"
                    up, down = (weights[f"{name}.{one}_proj.weight"] for one in ("up", "down"))
                    y = y + F.silu(y @ up.T) @ down.T
                y = layer(number, y)
            outputs.append(y)
        x = self._aggregated(outputs)
        for number in behind:
            x = layer(number, x)
        return self.base.lm_head(base.norm(x))

    def _aggregated(self, outputs: list[torch.Tensor]) -> torch.Tensor:
        if self.aggregation == "last":
            return outputs[-1]
        if self.aggregation == "mean":
            return sum(outputs) / len(outputs)

        def head(name):
            return self.weights[f"{WRAPPER}.aggregation_head.{name}"]

        x = torch.cat(outputs, dim=-1) @ head("linear.weight").T + head("linear.bias")
        gate, up = (x @ head(f"mlp.{one}_proj.weight").T for one in ("gate", "up"))
        return (F.silu(gate) * up) @ head("mlp.down_proj.weight").T
