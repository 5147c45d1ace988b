"""Models that are loaded with flash_attention_2, beside exact ones on the CPU; run with that environment and package.

Prints, as JSON by kind of model: what from_pretrained was given, which attention ran in each measurement and which of
the package's functions, how far scores are from the exact ones, also under sdpa, and how a training went.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flash_attn
import torch
from transformers import AutoModelForCausalLM

from bench.gpu_correctness import as_loaded
from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.evaluation.drawn import WINDOW, Requests
from tests.unit.training.small import losses, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.perplexity import nats_of
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.hub.load import load_model

FLASH = "flash_attention_2"
LORA = {"method": "lora", "lora_rank": 8}
passed: list[dict[str, str]] = []


def apart(found: list[float], expected: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


def refusal(work: Callable[[], Any]) -> Exception:
    try:
        work()
    except (RuntimeError, UserError) as error:
        return error
    raise AssertionError("it was done")


def load(manifest: Path, dtype: str, attention: str = FLASH):
    return load_model(manifest, device="cuda", dtype=dtype, attention=attention)


def note_what_is_passed() -> None:
    usual = AutoModelForCausalLM.from_pretrained

    def noted(*arguments, **options):
        passed.append({name: str(options[name]) for name in ("attn_implementation", "dtype")})
        return usual(*arguments, **options)

    AutoModelForCausalLM.from_pretrained = noted


def compared(kind: str, draw: Requests, folder: Path) -> dict[str, Any]:
    exact = tiny_model(kind)
    manifest = put_in_hub(exact, folder / kind, smallest_tokenizer())
    alone = [(draw.tokens(20, 60), draw.tokens(1, 5)) for _ in range(9)]
    of_texts = [(draw.tokens(40, 60), 30) for _ in range(5)]
    flash = load(manifest, "bfloat16")
    engine = PrefixEngine(flash.model)
    scored = {"plain": alone, "shared": draw.mixed()}
    found: dict[str, Any] = {"passed": passed[-1], "loaded": flash.attention}
    found |= {"engine": engine.description, "engine_attention": engine.model.attention}
    for name, requests in scored.items():
        expected = [
            value for value, _ in PrefixEngine(exact).loglikelihoods(requests, window=WINDOW)
        ]
        flash_attn.calls.clear()
        values = [value for value, _ in engine.loglikelihoods(requests, window=WINDOW)]
        calls = dict(flash_attn.calls)
        on_cpu = PrefixEngine(as_loaded(exact, "cpu", torch.bfloat16))
        rounded = [value for value, _ in on_cpu.loglikelihoods(requests, window=WINDOW)]
        found[name] = {
            "calls": calls, "apart": apart(values, expected), "rounding": apart(rounded, expected),
        }  # fmt: skip
    engine.generate([GenerationRequest(context, 8) for context in draw.contexts(1, 3)])
    found["left"] = flash.model.config._attn_implementation
    flash_attn.calls.clear()
    values, expected = nats_of(flash.model, of_texts), nats_of(exact, of_texts)
    found["perplexity"] = {
        "calls": dict(flash_attn.calls),
        "apart": apart(values, expected),
        "rounding": apart(nats_of(as_loaded(exact, "cpu", torch.bfloat16), of_texts), expected),
    }
    flash_attn.calls.clear()
    trained = train_small(
        folder / f"{kind} flash", kind, load=lambda dtype: load(manifest, dtype).model, device="cuda",
        precision="bfloat16", **LORA,
    )  # fmt: skip
    on_cpu = train_small(folder / f"{kind} cpu", kind, load=lambda _: tiny_model(kind), **LORA)
    found["training"] = {
        "calls": dict(flash_attn.calls),
        "passed": passed[-1],
        "ran": trained.ran,
        "apart": apart(losses(trained), losses(on_cpu)),
    }
    return found


def others(folder: Path) -> dict[str, Any]:
    """What is loaded in other number formats, and on an older card."""
    manifest = put_in_hub(tiny_model("llama"), folder / "others", smallest_tokenizer())
    found = {dtype: load(manifest, dtype).attention for dtype in ("float16", "float32", "auto")}
    torch.cuda.pretend(capability=(7, 5))
    error = refusal(lambda: load(manifest, "float16"))
    return found | {"refused": str(error), "sdpa": load(manifest, "float16", "sdpa").attention}


if __name__ == "__main__":
    seed, *kinds = sys.argv[1:]
    torch.set_num_threads(1)
    note_what_is_passed()
    with tempfile.TemporaryDirectory() as folder:
        drawn = Requests(int(seed))
        results = {kind: compared(kind, drawn, Path(folder)) for kind in kinds}
        print(json.dumps(results | {"others": others(Path(folder))}))
