"""Small trainings on the GPU beside the same ones on the CPU; run with that environment.

Prints, as JSON by case, how far losses are apart, and how the GPU trained.
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


def train_on(device: str, kind: str, folder: Path, **changes: Any):
    def load(dtype: str):
        return as_loaded(model_of(kind), device, getattr(torch, dtype))

    return train_small(folder, kind, load=load, device=device, epochs=2, save_every=1000, **changes)


def compare(name: str, precision: str, folder: Path) -> dict[str, Any]:
    kind, changes = CASES[name]
    on_gpu = train_on("cuda", kind, folder / "gpu", **changes, precision=precision)
    on_cpu = train_on("cpu", kind, folder / "cpu", **changes, precision="float32")
    pairs = zip(losses(on_gpu), losses(on_cpu), strict=True)
    return {"ran": on_gpu.ran, "apart": max(abs(ours - theirs) for ours, theirs in pairs)}


def main(precision: str) -> None:
    torch.set_num_threads(1)
    said, results = StringIO(), {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        for name in CASES:
            results[name] = compare(name, precision, Path(folder) / name)
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
