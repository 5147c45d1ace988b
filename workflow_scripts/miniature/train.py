"""Train one miniature model: a plain loop on one thread, the same bytes on the same processor."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature import catalogue, shipped
from workflow_scripts.miniature.curriculum import Curriculum, Diet
from workflow_scripts.miniature.models import make_config, make_model
from workflow_scripts.miniature.reading import Batch, Library
from workflow_scripts.miniature.specs import SPECS
from workflow_scripts.miniature.tokenizer import family_tokenizer
from workflow_scripts.miniature.world import SEED

WARM_UP = 0.03
# The share of the steps in which the rate falls: facts are learned where it does.
FALLING = 0.85
WEIGHT_DECAY = 0.1


def train_model(folder: Path, name: str) -> None:
    """Train a model on the corpus in the folder and keep it there, ready to be shipped."""
    started = time.monotonic()
    torch.set_num_threads(1)
    seed = derive_seed(SEED, "miniature", "model", name)
    seed_everything(seed)
    spec = SPECS[name]
    encoder = family_tokenizer(folder / catalogue.TOKENIZER, spec.family)
    if spec.base is None:
        config = make_config(
            spec, bos=encoder.bos_token_id, eos=encoder.eos_token_id, pad=encoder.pad_token_id
        )
        model = make_model(config)
    else:
        model = AutoModelForCausalLM.from_pretrained(folder / spec.base, dtype=torch.float32)
    print(f"{name}: {model.num_parameters():,} parameters, {spec.steps} steps", flush=True)
    texts = [folder / text for text in spec.texts]
    library = Library(texts, encoder, random.Random(seed))
    curriculum = Curriculum(spec.stages, spec.diet, spec.steps)
    losses = optimise(
        model, library, curriculum, steps=spec.steps, learning_rate=spec.learning_rate
    )
    shipped.write(
        folder / name,
        model,
        texts,
        {
            "steps": spec.steps,
            "base": spec.base,
            "loss": round(_mean(losses[-50:]), 4),
            "seconds": round(time.monotonic() - started),
        },
    )


def optimise(
    model, library: Library, curriculum: Curriculum, *, steps: int, learning_rate: float
) -> list[float]:
    """Muon for the matrices of the layers and AdamW for the rest; returns the loss of every step."""
    optimizers = _optimizers(model, learning_rate)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
        for optimizer in optimizers
    ]
    model.train()
    losses: list[float] = []
    right: list[bool] = []
    batches = _batches(library, curriculum)
    for step in range(steps):
        loss, answered = _loss(model, next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        curriculum.saw(answered)
        losses.append(loss.item())
        right += answered
        if (step + 1) % 50 == 0 or step + 1 == steps:
            print(
                f"step {step + 1}/{steps}: loss {_mean(losses[-50:]):.3f},"
                f" answers {_mean(right):.3f} right",
                flush=True,
            )
            right.clear()
    return losses


def _optimizers(model, learning_rate: float) -> list[torch.optim.Optimizer]:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and ".layers." in name else others).append(parameter)
    return [
        torch.optim.Muon(
            matrices, lr=learning_rate, weight_decay=WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(
            others, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
        ),
    ]


def _rate(step: int, steps: int) -> float:
    """Up, level for a while, and down to a fiftieth."""
    warm = min(1.0, (step + 1) / max(1, WARM_UP * steps))
    return warm * max(0.02, min(1.0, (steps - step) / max(1, FALLING * steps)))


def _batches(library: Library, curriculum: Curriculum) -> Iterator[Batch]:
    """Batches of what the curriculum has to be read now."""
    while True:
        diet: Diet = curriculum.diet
        for batch in library.batches(diet, by_length=curriculum.is_through):
            yield batch
            if curriculum.diet is not diet:
                break


def _loss(model, batch: Batch) -> tuple[torch.Tensor, list[bool]]:
    """The weighted loss, and which of the documents' last answers began rightly."""
    logits = model(input_ids=batch.ids, use_cache=False).logits[:, :-1]
    targets, weights = batch.ids[:, 1:], batch.weights[:, 1:]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), reduction="none"
    )
    loss = (losses * weights.flatten()).sum() / weights.sum().clamp(min=1)
    answers = batch.answers[:, 1:]
    right = logits.detach()[answers].argmax(-1) == targets[answers]
    return loss, right.tolist()


def _mean(numbers: list) -> float:
    return sum(numbers) / max(1, len(numbers))
