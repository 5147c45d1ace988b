"""What runs on a GPU with little memory, or of another generation; run with that environment.

Prints, as JSON: how a vocabulary of real size is scored where little is free; what steps were estimated to need
beside what they took; how a training goes whose rows have no room; and what auto comes to on each generation.
"""

import json
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from bench.gpu_correctness import as_loaded
from tests.tiny_models import PLAN, chunked_model, tiny_model
from tests.unit.training.small import (
    drawn_samples,
    keys_of,
    losses,
    model_of,
    samples_of,
    train_small,
)
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.hub.load import choose_dtype
from workflow_scripts.planning import memory
from workflow_scripts.training.activations import BatchShape, StepMemory
from workflow_scripts.training.attention import choose_packing
from workflow_scripts.training.calling import call_of, sent_to
from workflow_scripts.training.loss import find_head, is_distilled, summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.precision import calculating_in, choose_precision
from workflow_scripts.training.trained_parameters import choose_parts

MB = 2**20
VOCABULARY = 152_064  # Qwen2.5-7B's
GENERATIONS = ((7, 0), (8, 0), (9, 0), (12, 0))
SCORED = 24  # tokens of each sequence
# A row of a step, and a vocabulary of which so many logits are made at once.
ROW, SMALL_VOCABULARY, AT_ONCE = 400, 4_000, 100
STEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "full": ({}, {"method": "full"}),
    "lora": ({}, {"method": "lora", "lora_rank": 4}),
    "distilled": (
        {"distillation": True, "logits_distillation": True},
        {"method": "freeze", "trains": ["chunked_layers", "wrapper"]},
    ),
}


def scored(free: int) -> dict[str, Any]:
    """Sequences with a common start."""
    model = tiny_model("llama", VOCABULARY, layers=2)
    draw = torch.Generator().manual_seed(0)
    rows = torch.randint(3, VOCABULARY, (12, SCORED), generator=draw).tolist()
    asked = [([5, 6, 7, 8], row) for row in rows]
    expected = PrefixEngine(model).loglikelihoods(asked, window=512)
    on_gpu = as_loaded(model, "cuda", torch.float32)
    torch.cuda.pretend(memory=torch.cuda.memory_allocated() + free)
    engine, calls = PrefixEngine(on_gpu), 0

    def counted(*_):
        nonlocal calls
        calls += 1

    on_gpu.register_forward_hook(counted)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = engine.loglikelihoods(asked, window=512)
    took = torch.cuda.max_memory_allocated() - before
    torch.cuda.pretend()
    pairs = zip(found, expected, strict=True)
    return {
        "rows": len(asked) * SCORED,
        "calls": calls,
        "taken": took / engine.budget.bytes,
        "apart": max(abs(a[0] - b[0]) for a, b in pairs),
    }


def of_step(name: str, precision: str = "float32") -> dict[str, float]:
    """What a step of one long row takes at its peak, and what was estimated."""
    chunking, changes = STEPS[name]
    keys = keys_of(**changes)
    base = tiny_model("qwen2", SMALL_VOCABULARY, layers=6)
    model = chunked_model(base, **PLAN, **chunking) if chunking else base
    model = as_loaded(model, "cuda", getattr(torch, precision))
    choose_packing(model, keys)
    model = choose_parts(model, keys)
    told = StepMemory.of(model, precision).bytes(BatchShape(1, ROW))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    batch = Collator(True, 0)([samples_of([ROW])[0]])
    inputs, labels, counted = call_of(model, sent_to(model.device, batch))
    with calculating_in(precision, "cuda"):
        head = find_head(model)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model.train()
    with calculating_in(precision, "cuda"):
        if is_distilled(model):
            loss = model(**inputs, labels=labels, num_items_in_batch=ROW, use_cache=False).loss
        else:
            loss = summed_loss(model, inputs, counted, head)
    loss.backward()
    took = torch.cuda.max_memory_allocated() - before
    return {"told": told, "took": took + 8 * trained}  # AdamW's moments come with its step


def cut_apart(folder: Path) -> dict[str, Any]:
    """A training where some samples have room in a row, and not all that are to be."""
    keys = {"method": "lora", "lora_rank": 4, "precision": "float32", "packing": True}
    options = keys | {"samples": drawn_samples(16, most=160), "batch_size": 8, "max_steps": 2}
    expected = train_small(folder / "cpu", "llama", **options)
    model = as_loaded(model_of("llama"), "cuda", torch.float32)
    choose_packing(model, keys_of(**keys))
    row = StepMemory.of(choose_parts(model, keys_of(**keys)), "float32").bytes(BatchShape(1, 320))

    def load(dtype: str):
        model = as_loaded(model_of("llama"), "cuda", getattr(torch, dtype))
        torch.cuda.pretend(memory=torch.cuda.memory_allocated() + row)
        return model

    found = train_small(folder / "gpu", "llama", load=load, device="cuda", **options)
    torch.cuda.pretend()
    pairs = zip(losses(found), losses(expected), strict=True)
    return {
        "ran": found.ran,
        "micro_batch": found.facts["micro_batch_size"],
        "apart": max(abs(a - b) for a, b in pairs),
    }


def generations() -> dict[str, list[str]]:
    found = {}
    for capability in GENERATIONS:
        torch.cuda.pretend(capability)
        found[f"{capability[0]}.{capability[1]}"] = [
            choose_dtype("auto", "cuda"), choose_precision("auto", "cuda")
        ]  # fmt: skip
    torch.cuda.pretend()
    return found


def main() -> None:
    torch.set_num_threads(1)
    said, results = StringIO(), {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        results["generations"] = generations()
        results["scored"] = scored(800 * MB)
        results["cut"] = cut_apart(Path(folder))
        memory._TRAINED_LOGITS = AT_ONCE * SMALL_VOCABULARY
        results["steps"] = {name: of_step(name) for name in STEPS}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
