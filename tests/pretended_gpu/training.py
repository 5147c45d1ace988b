"""Small trainings on the GPU beside the same ones on the CPU; run with that environment.

Prints, as JSON by case, how far losses and weights are apart, how the GPU trained, and how often a step waited
for it. A training among others is held against the same one by itself on the CPU.
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
from tests.unit.training.small import drawn_samples, keys_of, losses, model_of, train_small
from tests.unit.training.together.lessons import alone, around
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.together.run import train_together

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("qwen2", {"method": "full"}),
    "freeze": ("llama", {"method": "freeze", "trains": ["layers 1"]}),
    "lora": ("llama", {"method": "lora", "lora_rank": 8}),
    "lora and norms": ("llama", {"method": "lora", "lora_rank": 8, "trains": ["*norm*"]}),
    "chunked": ("fused", {"method": "freeze", "trains": ["wrapper"]}),
    "padded": ("gpt_neox", {"method": "lora", "lora_rank": 8, "packing": False}),
}
TOGETHER = {"method": "lora", "lora_rank": 8, "schedule": "linear", "epochs": 2}
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


def lesson(at: int, precision: str, device: str) -> Lesson:
    def score(model) -> dict[str, float]:
        with torch.no_grad():
            logits = model(input_ids=torch.arange(3, 40, device=device)[None]).logits
        return {"acc": -float(logits.float().logsumexp(-1).mean())}

    samples = drawn_samples(5 + 4 * at, seed=at, most=10 + 8 * at)
    keys = keys_of(**TOGETHER, precision=precision)
    return Lesson(samples, keys, 0, {"data": at}, score=score, best_by=("acc", True), name=f"{at}")


def together(precision: str, folder: Path) -> dict[str, Any]:
    on_cpu = model_of("llama")
    model = as_loaded(on_cpu, "cuda", getattr(torch, precision))
    asked = [lesson(at, precision, "cuda") for at in range(3)]
    outcomes = train_together(around(model), asked, folder / "group", device="cuda", at_once=3)
    if outcomes is None:
        return {"shared": False}
    apart, weights, found = 0.0, 0.0, dict(outcomes)
    for at, one in enumerate(asked):
        exact = alone(on_cpu, lesson(at, "float32", "cpu"), folder / one.name)
        trained = found[one.name]
        if isinstance(trained, Exception):
            raise trained
        assert losses(exact)[-1] < losses(exact)[0] - 0.1
        apart = max(
            apart, *(abs(a - b) for a, b in zip(losses(trained), losses(exact), strict=True))
        )
        for name, tensor in exact.parameters.items():
            weights = max(weights, float((trained.parameters[name].cpu() - tensor).abs().max()))
    return {"shared": True, "ran": found["0"].ran, "apart": apart, "weights_apart": weights}


def main(precision: str) -> None:
    torch.set_num_threads(1)
    said, results = StringIO(), {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        for name in CASES:
            results[name] = compared(name, precision, Path(folder) / name)
        results["together"] = together(precision, Path(folder) / "together")
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
