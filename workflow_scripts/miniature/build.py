"""Build the datasets of the miniature world, and what its models are trained on."""

import time
from pathlib import Path

from workflow_scripts.miniature import catalogue, conversations, corpus
from workflow_scripts.miniature.datasets import (
    arithmetic,
    chat,
    commonsense,
    corpora,
    glue,
    mmlu,
    open_answers,
    science,
    superglue,
    vendor_prompts,
)
from workflow_scripts.miniature.store import write_repository
from workflow_scripts.miniature.tokenizer import train_tokenizer
from workflow_scripts.miniature.world import make_world

_BUILDERS = (
    arithmetic, chat, commonsense, corpora, glue, mmlu, open_answers, science, superglue, vendor_prompts,
)  # fmt: skip


def build_world(hub: Path, *, items: int) -> None:
    """Fill the hub folder with datasets; `items` is the number of test questions per task."""
    started = time.monotonic()
    world = make_world()
    for builder in _BUILDERS:
        for repository in builder.build(world, items):
            write_repository(hub, repository)
    print(f"datasets: {time.monotonic() - started:.1f} s", flush=True)


def build_texts(hub: Path, folder: Path) -> None:
    """Write what the models are trained on, from the training splits in the hub folder, and the tokenizer."""
    started = time.monotonic()
    texts = corpus.build_corpus(hub, make_world(), folder / catalogue.CORPUS)
    print(f"corpus of {len(texts)} documents: {time.monotonic() - started:.1f} s", flush=True)
    train_tokenizer(texts, folder / catalogue.TOKENIZER)
    conversations.write_conversations(make_world(), folder / catalogue.CONVERSATIONS)
    print(f"and tokenizer: {time.monotonic() - started:.1f} s", flush=True)
