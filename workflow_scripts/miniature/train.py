"""Train one miniature model: a plain loop on one thread, the same bytes for the same seed."""

import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

from workflow_scripts.core.files import atomic_dir
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature.catalogue import TOKENIZER
from workflow_scripts.miniature.models import SPECS, Spec, make_config, make_model
from workflow_scripts.miniature.reading import Batch, batches_of
from workflow_scripts.miniature.store import LICENCE, write_model_manifest
from workflow_scripts.miniature.tokenizer import family_tokenizer

WARM_UP = 0.06
ORGANISATION = "miniature"


def train_model(hub: Path, name: str, *, seed: int, effort: float) -> None:
    """Train `miniature/<name>` and put it into the hub folder, whole or not at all."""
    started = time.monotonic()
    torch.set_num_threads(1)
    seed_everything(derive_seed(seed, "miniature", "model", name))
    spec = SPECS[name]
    encoder = family_tokenizer(hub / TOKENIZER, spec.family)
    if spec.base is None:
        config = make_config(
            spec,
            bos=encoder.bos_token_id,
            eos=encoder.eos_token_id,
            pad=encoder.pad_token_id,
        )
        model = make_model(config)
    else:
        base = hub / "models" / ORGANISATION / spec.base
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    steps = max(1, round(spec.steps * effort))
    print(f"{name}: {model.num_parameters():,} parameters, {steps} steps", flush=True)
    optimise(model, batches_of(hub, name, seed=seed), steps=steps, learning_rate=spec.learning_rate)
    _save(hub, name, model, encoder, spec)
    print(f"{name}: done after {time.monotonic() - started:.1f} s", flush=True)


def optimise(model, batches: Iterator[Batch], *, steps: int, learning_rate: float) -> list[float]:
    """AdamW with warm-up and a cosine down to a tenth; returns the loss of every step."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.05, fused=True
    )
    warm_up = max(1, round(WARM_UP * steps))

    def rate(step: int) -> float:
        if step < warm_up:
            return (step + 1) / warm_up
        return 0.55 + 0.45 * math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    model.train()
    losses = []
    for step in range(steps):
        loss = _loss(model, *next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if (step + 1) % 50 == 0 or step + 1 == steps:
            recent = losses[-50:]
            print(f"step {step + 1}/{steps}: loss {sum(recent) / len(recent):.3f}", flush=True)
    return losses


def _loss(model, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
    )
    counted = weights[:, 1:].flatten()
    return (losses * counted).sum() / counted.sum().clamp(min=1)


def _save(hub: Path, name: str, model, encoder: PreTrainedTokenizerFast, spec: Spec) -> None:
    model.eval()
    ends = [encoder.eos_token_id]
    if spec.base is not None:  # an instruct model also stops where its turn ends
        ends.insert(0, encoder.convert_tokens_to_ids(spec.family.end_of_turn))
    model.generation_config = GenerationConfig(
        bos_token_id=encoder.bos_token_id, eos_token_id=ends, pad_token_id=encoder.pad_token_id
    )
    with atomic_dir(hub / "models" / ORGANISATION / name) as folder:
        model.save_pretrained(folder)
        encoder.save_pretrained(folder)
        (folder / "README.md").write_text(_card(name, model), encoding="utf-8", newline="\n")
        write_model_manifest(folder, f"{ORGANISATION}/{name}", LICENCE, model)


def _card(name: str, model) -> str:
    return (
        f"---\nlicense: {LICENCE}\n---\n\n# {ORGANISATION}/{name}\n\n"
        f"A {type(model).__name__} of {model.num_parameters():,} parameters, trained for seconds on the\n"
        "generated text of Chorus's miniature world. It knows nothing of any other.\n"
    )
