"""Small trainings on the GPU beside the same ones on the CPU; run with that environment.

Prints, as JSON by case, how far losses and weights are apart, how the GPU trained, and how often a step waited
for it.
"""

import json
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from bench.gpu_correctness import as_loaded
from tests.unit.training.small import losses, model_of, train_small

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("qwen2", {"method": "full"}),
    "freeze": ("llama", {"method": "freeze", "trains": ["layers 1"]}),
    "lora": ("llama", {"method": "lora", "lora_rank": 8}),
    "lora and norms": ("llama", {"method": "lora", "lora_rank": 8, "trains": ["*norm*"]}),
    "chunked": ("fused", {"method": "freeze", "trains": ["wrapper"]}),
    "padded": ("gpt_neox", {"method": "lora", "lora_rank": 8, "packing": False}),
}
SHORT, LONG = 2, 9  # epochs, of 6 steps each


def on(device: str, kind: str, folder: Path, epochs: int, **changes: Any):
    def load(dtype: str):
        return as_loaded(model_of(kind), device, getattr(torch, dtype))

    return train_small(
        folder, kind, load=load, device=device, epochs=epochs, save_every=1000, **changes
    )


def compared(name: str, precision: str, folder: Path) -> dict[str, Any]:
    kind, changes = CASES[name]
    changes = changes | {"precision": precision}
    begun = torch.cuda.waits()
    found = on("cuda", kind, folder / "gpu", SHORT, **changes)
    between = torch.cuda.waits()
    on("cuda", kind, folder / "long", LONG, **changes)
    more = torch.cuda.waits() - between - (between - begun)
    expected = on("cpu", kind, folder / "cpu", SHORT, **changes | {"precision": "float32"})
    return {
        "ran": found.ran,
        "apart": max(abs(a - b) for a, b in zip(losses(found), losses(expected), strict=True)),
        "waits_a_step": more / (6 * (LONG - SHORT)),
    }


def main(precision: str) -> None:
    torch.set_num_threads(1)
    said, results = StringIO(), {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        for name in CASES:
            results[name] = compared(name, precision, Path(folder) / name)
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
