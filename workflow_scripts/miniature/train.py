"""Train one miniature model: a plain loop on one thread, the same bytes for the same seed."""

import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import torch
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

from workflow_scripts.core.files import atomic_dir
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.hub.manifest import Manifest, content_commit, list_files, write_manifest
from workflow_scripts.miniature.corpus import text_of
from workflow_scripts.miniature.models import SPECS, Spec, make_config, make_model
from workflow_scripts.miniature.store import LICENCE
from workflow_scripts.miniature.tokenizer import family_tokenizer

BLOCK = 256
BLOCKS_PER_STEP = 4
WARM_UP = 0.06
IGNORED = -100
ORGANISATION = "miniature"


def train_model(hub: Path, name: str, *, corpus: Path, tokenizer: Path, seed: int, effort: float) -> None:
    """Train `miniature/<name>` and put it into the hub folder, whole or not at all."""
    started = time.monotonic()
    torch.set_num_threads(1)
    seed_everything(derive_seed(seed, "miniature", "model", name))
    spec = SPECS[name]
    encoder = family_tokenizer(tokenizer, spec.family)
    if spec.base is None:
        config = make_config(
            spec,
            bos=encoder.bos_token_id,
            eos=encoder.eos_token_id,
            pad=encoder.pad_token_id,
        )
        model = make_model(config)
        documents = _pretraining_documents(corpus, spec, seed, name)
        stream = _encode_text(documents, encoder, spec)
    else:
        base = hub / "models" / ORGANISATION / spec.base
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        stream = _encode_chats(_chat_documents(corpus, seed, name), encoder)
    steps = max(1, round(spec.steps * effort))
    print(f"{name}: {model.num_parameters():,} parameters, {steps} steps, ready after {time.monotonic() - started:.1f} s", flush=True)
    _optimise(model, _blocks(stream), steps=steps, learning_rate=spec.learning_rate)
    _save(hub, name, model, encoder, spec)
    print(f"{name}: done after {time.monotonic() - started:.1f} s", flush=True)


def _pretraining_documents(corpus: Path, spec: Spec, seed: int, name: str) -> Iterator[str]:
    """Questions and prose in the family's proportions, each in an order of the model's own, for ever."""
    rows = pq.read_table(corpus).to_pylist()
    rng = random.Random(derive_seed(seed, "miniature", "documents", name))
    pools = {
        kind: _cycle([text_of(row) for row in rows if row["kind"] == kind], rng)
        for kind in ("question", "prose")
    }
    while True:
        yield next(pools["question" if rng.random() < spec.family.question_share else "prose"])


def _chat_documents(corpus: Path, seed: int, name: str) -> Iterator[tuple[str, str]]:
    rows = pq.read_table(corpus).to_pylist()
    rng = random.Random(derive_seed(seed, "miniature", "documents", name))
    return _cycle(
        [(row["prompts"][0], row["completions"][0]) for row in rows if row["kind"] == "chat"], rng
    )


def _cycle(documents: list, rng: random.Random) -> Iterator:
    while True:
        yield from rng.sample(documents, len(documents))


Tokens = Iterator[tuple[list[int], list[int]]]


def _encode_text(documents: Iterator[str], encoder: PreTrainedTokenizerFast, spec: Spec) -> Tokens:
    """Token ids and labels; every token counts. The encoder adds the family's start token itself."""
    for text in documents:
        ids = [*encoder(text)["input_ids"], encoder.eos_token_id]
        yield ids, ids


def _encode_chats(chats: Iterator[tuple[str, str]], encoder: PreTrainedTokenizerFast) -> Tokens:
    """Token ids and labels of conversations; only the assistant's words count."""
    for request, reply in chats:
        encoded = encoder.apply_chat_template(
            [{"role": "user", "content": request}, {"role": "assistant", "content": reply}],
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        ids, spoken = encoded["input_ids"], encoded["assistant_masks"]
        yield ids, [i if by_assistant else IGNORED for i, by_assistant in zip(ids, spoken, strict=True)]


def _blocks(stream: Tokens) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Documents end to end, cut into blocks of equal length."""
    size = BLOCK * BLOCKS_PER_STEP
    ids: list[int] = []
    labels: list[int] = []
    for new_ids, new_labels in stream:
        ids += new_ids
        labels += new_labels
        while len(ids) >= size:
            shape = (BLOCKS_PER_STEP, BLOCK)
            yield torch.tensor(ids[:size]).view(shape), torch.tensor(labels[:size]).view(shape)
            del ids[:size], labels[:size]


def _optimise(model, blocks, *, steps: int, learning_rate: float) -> list[float]:
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
        ids, labels = next(blocks)
        loss = model(input_ids=ids, labels=labels, use_cache=False).loss
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


def _save(hub: Path, name: str, model, encoder: PreTrainedTokenizerFast, spec: Spec) -> None:
    model.eval()
    ends = [encoder.eos_token_id]
    if spec.family.end_of_turn is not None and spec.base is not None:
        ends = [encoder.convert_tokens_to_ids(spec.family.end_of_turn), *ends]
    model.generation_config = GenerationConfig(
        bos_token_id=encoder.bos_token_id, eos_token_id=ends, pad_token_id=encoder.pad_token_id
    )
    with atomic_dir(hub / "models" / ORGANISATION / name) as folder:
        model.save_pretrained(folder)
        encoder.save_pretrained(folder)
        (folder / "README.md").write_text(_card(name, model), encoding="utf-8", newline="\n")
        files = list_files(folder)
        write_manifest(
            folder,
            Manifest(
                kind="model",
                source="miniature",
                repository=f"{ORGANISATION}/{name}",
                revision=None,
                commit=content_commit(files),
                licence=LICENCE,
                parameters=model.num_parameters(),
                architecture=type(model).__name__,
                files=files,
            ),
        )


def _card(name: str, model) -> str:
    return (
        f"---\nlicense: {LICENCE}\n---\n\n# {ORGANISATION}/{name}\n\n"
        f"A {type(model).__name__} of {model.num_parameters():,} parameters, trained for seconds on the\n"
        "generated text of Chorus's miniature world. It knows nothing of any other.\n"
    )
