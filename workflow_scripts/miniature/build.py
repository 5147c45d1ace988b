"""Build the whole miniature world but its models: datasets, corpus, tokenizer."""

import time
from pathlib import Path

from workflow_scripts.core.files import sha256_file, write_json
from workflow_scripts.miniature import catalogue, corpus
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
from workflow_scripts.miniature.items import Repository
from workflow_scripts.miniature.store import write_repository
from workflow_scripts.miniature.tokenizer import train_tokenizer
from workflow_scripts.miniature.world import World, make_world

_BUILDERS = (
    *(arithmetic, chat, commonsense, corpora, glue),
    *(mmlu, open_answers, science, superglue, vendor_prompts),
)


def build_world(hub: Path, *, seed: int, items: int) -> None:
    """Fill the hub folder; `items` is the number of test questions per task."""
    world = make_world(seed)
    started = time.monotonic()
    for repository in build_datasets(world, items):
        write_repository(hub, repository)
    print(f"datasets: {time.monotonic() - started:.1f} s", flush=True)
    texts = corpus.build_corpus(hub, world, items, hub / catalogue.CORPUS)
    print(f"and corpus of {len(texts)} documents: {time.monotonic() - started:.1f} s", flush=True)
    train_tokenizer(texts, hub / catalogue.TOKENIZER)
    write_json(
        hub / catalogue.TEXTS,
        {path: sha256_file(hub / path) for path in (catalogue.CORPUS, catalogue.TOKENIZER)},
    )
    print(f"and tokenizer: {time.monotonic() - started:.1f} s", flush=True)


def build_datasets(world: World, items: int) -> list[Repository]:
    return [repository for builder in _BUILDERS for repository in builder.build(world, items)]
