"""Make folders as the published code saves them, and compute the logits of their weights.

Nothing here comes from our own classes: names, shapes and sums are those of the published README and
of its modules, `chunk_layers_<chunk>.adapter_<place>` and `aggregation_head`.
"""

import json
import re
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from safetensors.torch import load_file, save_file

from tests.tiny_models import base_model, edit_config
from tests.unit.chunked.reference import compute_logits, compute_states

HIDDEN, INNER, LAYERS, ROPE = 32, 40, 6, 1e6
WRAPPER = "model.wrapped_chunk_layers"
# The layers before the chunks, the chunks, and the layers after them.
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

        def draw(*shape):
            return torch.randn(*shape) * 0.15

        if self.adapters:
            for chunk, numbers in enumerate(chunks):
                for place in range(len(numbers)):
                    name = f"{WRAPPER}.chunk_layers_{chunk}.adapter_{place}"
                    self.weights[f"{name}.up_proj.weight"] = draw(INNER, HIDDEN)
                    self.weights[f"{name}.down_proj.weight"] = draw(HIDDEN, INNER)
        if self.aggregation == "mlp":
            head = f"{WRAPPER}.aggregation_head"
            self.weights |= {
                f"{head}.linear.weight": draw(HIDDEN, len(chunks) * HIDDEN),
                f"{head}.linear.bias": draw(HIDDEN),
                f"{head}.mlp.gate_proj.weight": draw(INNER, HIDDEN),
                f"{head}.mlp.up_proj.weight": draw(INNER, HIDDEN),
                f"{head}.mlp.down_proj.weight": draw(HIDDEN, INNER),
            }

    def save(self, folder):
        """Save a file of weights, with a config.json of transformers 4."""
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
    def compute_logits(self, ids: torch.Tensor) -> torch.Tensor:
        """Compute each row by itself, from the weights under their published names."""
        start, chunks, end = PLANS[self.mode]
        config = SimpleNamespace(
            plan=lambda: SimpleNamespace(start=start, chunks=chunks, end=end),
            use_adapters=self.adapters,
            aggregation_mode=self.aggregation,
            aggregation_base="none",
            hidden_act="silu",
        )

        def find_number(match) -> str:
            return f"adapters.{chunks[int(match[1])][int(match[2])]}"

        new = {}
        for name, weight in self.weights.items():
            name = name.removeprefix(f"{WRAPPER}.").replace("aggregation_head.mlp", "aggregation")
            name = name.replace("aggregation_head.linear", "aggregation.proj")
            new[re.sub(r"chunk_layers_(\d+)\.adapter_(\d+)", find_number, name)] = weight
        states = [compute_states(self.base, config, new, row) for row in ids]
        return torch.stack([compute_logits(self.base, each) for each in states])
