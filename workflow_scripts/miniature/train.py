"""Train the miniature models, each in a plain loop on one thread; the same CPU gives byte-identical weights."""

import time
from collections import deque
from collections.abc import Generator
from functools import partial
from pathlib import Path
from random import Random

import torch
import transformers
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature import catalogue, conversations, corpus, shipped
from workflow_scripts.miniature.reading import Library, Tokens
from workflow_scripts.miniature.specs import SPECS, Spec
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS, load_tokenizer, train_tokenizer
from workflow_scripts.miniature.world import SEED

WARM_UP = 0.03
# Fraction of the steps in which the learning rate decays; models learn facts during the decay.
DECAY = 0.85
WEIGHT_DECAY = 0.1
# The accuracy of a curriculum stage is over the answers to this many last documents.
NUM_JUDGED = 400


def make_config(spec: Spec, tokenizer) -> PretrainedConfig:
    """Build the architecture's config at this size, with tied embeddings, which would otherwise be most parameters."""
    keys = {
        "vocab_size": EMBEDDING_ROWS,
        "hidden_size": spec.hidden,
        "intermediate_size": spec.inner,
        "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads,
        "max_position_embeddings": tokenizer.model_max_length,
        # The default 0.02 suits a hidden size of about 1000; at this size it would cost half of the training.
        "initializer_range": spec.hidden**-0.5,
        "tie_word_embeddings": True,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    if spec.kv_heads != spec.heads:  # GPT-NeoX has no such key
        keys["num_key_value_heads"] = spec.kv_heads
    return getattr(transformers, spec.config)(**keys)


def make_model(config: PretrainedConfig) -> PreTrainedModel:
    """Build a model with scaled-down residual branches, so that 24 layers train as well as four."""
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    writes_to_residual = ("o_proj", "down_proj", "attention.dense", "dense_4h_to_h")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.removesuffix(".weight").endswith(writes_to_residual):
                parameter /= (2 * config.num_hidden_layers) ** 0.5
    return model


def build_texts(hub: Path, folder: Path) -> None:
    """Write the corpus from the training splits in the hub folder, the conversations and the tokenizer."""
    texts = corpus.build_corpus(hub, folder / catalogue.CORPUS)
    train_tokenizer(texts, folder / catalogue.TOKENIZER)
    conversations.write_conversations(folder / catalogue.CONVERSATIONS)


def train_model(folder: Path, name: str) -> None:
    """Train a model on the corpus in the folder, and write it there in the format of the repository."""
    started = time.monotonic()
    torch.set_num_threads(1)
    seed = derive_seed(SEED, "miniature", "model", name)
    seed_everything(seed)
    spec = SPECS[name]
    tokenizer = load_tokenizer(spec, folder)
    if spec.base:
        model = AutoModelForCausalLM.from_pretrained(folder / spec.base, dtype=torch.float32)
    else:
        model = make_model(make_config(spec, tokenizer))
    texts = [folder / text for text in spec.texts]
    losses = _optimize(model, spec, Library(texts, tokenizer, Random(seed)))
    facts = {
        "steps": spec.steps,
        "base": spec.base,
        "loss": round(sum(losses) / len(losses), 4),
        "seconds": round(time.monotonic() - started),
    }
    shipped.write_model(folder / name, model, texts, facts)


def _optimize(model: PreTrainedModel, spec: Spec, library: Library) -> deque[float]:
    """Train with Muon for the layers' matrices and AdamW for all other parameters; return the last losses."""
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, partial(_compute_rate, steps=spec.steps))
        for optimizer in _make_optimizers(model, spec.learning_rate)
    ]
    model.train()
    losses: deque[float] = deque(maxlen=50)
    batches = read_by_stages(library, spec)
    right = None
    for step in range(1, spec.steps + 1):
        loss, right = _compute_loss(model, batches.send(right))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for schedule in schedules:
            schedule.optimizer.step()
            schedule.step()
        model.zero_grad()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}/{spec.steps}: loss {sum(losses) / len(losses):.3f}", flush=True)
    return losses


def _make_optimizers(model: PreTrainedModel, rate: float) -> list[torch.optim.Optimizer]:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and ".layers." in name else others).append(parameter)
    return [
        torch.optim.Muon(
            matrices, lr=rate, weight_decay=WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def _compute_rate(step: int, steps: int) -> float:
    """Compute the learning rate factor: linear warm-up, constant, linear decay to 0.02."""
    warm = min(1.0, (step + 1) / max(1, WARM_UP * steps))
    return warm * max(0.02, min(1.0, (steps - step) / max(1, DECAY * steps)))


def read_by_stages(library: Library, spec: Spec) -> Generator[Tokens, list[bool] | None, None]:
    """Yield the batches of the curriculum and then of the mixture.

    The caller sends for each answer of the last batch whether it was correct.
    """
    for stage in catalogue.STAGES if spec.by_letter and not spec.base else ():
        answers: deque[bool] = deque(maxlen=NUM_JUDGED)
        for step, batch in enumerate(library.batches(stage["mixture"], by_length=False), 1):
            answers.extend((yield batch) or [])
            is_learned = (
                len(answers) == NUM_JUDGED and sum(answers) >= stage["min_right"] * NUM_JUDGED
            )
            if is_learned or step >= stage["max_share"] * spec.steps:
                break
    for batch in library.batches(spec.mixture, by_length=True):
        yield batch


def _compute_loss(model: PreTrainedModel, batch: Tokens) -> tuple[torch.Tensor, list[bool]]:
    """Compute the weighted loss, and whether the first token of each document's last answer is correct."""
    logits = model(input_ids=batch.ids, use_cache=False).logits[:, :-1]
    targets, weights, answers = (column[:, 1:] for column in batch)
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), reduction="none"
    )
    loss = (losses * weights.flatten()).sum() / weights.sum().clamp(min=1)
    right = logits.detach()[answers].argmax(-1) == targets[answers]
    return loss, right.tolist()


def main(hub: Path, folder: Path) -> None:
    """Train all models; the base models come first."""
    build_texts(hub, folder)
    for name in catalogue.MODELS:
        train_model(folder, name)


if "snakemake" in globals():
    run_job(main, snakemake)
