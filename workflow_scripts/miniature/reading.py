"""What one model reads, in which order: documents of the corpus, encoded, packed into batches."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import torch
from transformers import PreTrainedTokenizerFast

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.miniature.catalogue import CORPUS, TOKENIZER
from workflow_scripts.miniature.corpus import text_of
from workflow_scripts.miniature.models import SPECS, Spec
from workflow_scripts.miniature.tokenizer import family_tokenizer

BLOCK = 256
BLOCKS_PER_BATCH = 4
# Of an exam question it is the answer that one learns most from.
ANSWER_WEIGHT = 5.0

# Token ids, and how much each of them counts in the loss.
Batch = tuple[torch.Tensor, torch.Tensor]


def batches_of(hub: Path, name: str, *, seed: int) -> Iterator[Batch]:
    """Documents end to end, cut into blocks of equal length, for ever."""
    spec = SPECS[name]
    encoder = family_tokenizer(hub / TOKENIZER, spec.family)
    rng = random.Random(derive_seed(seed, "miniature", "documents", name))
    shape = (BLOCKS_PER_BATCH, BLOCK)
    size = BLOCKS_PER_BATCH * BLOCK
    ids: list[int] = []
    weights: list[float] = []
    for document in _documents(pq.read_table(hub / CORPUS).to_pylist(), spec, rng):
        new_ids, new_weights = _encode(document, encoder)
        ids += new_ids
        weights += new_weights
        while len(ids) >= size:
            yield torch.tensor(ids[:size]).view(shape), torch.tensor(weights[:size]).view(shape)
            del ids[:size], weights[:size]


def _documents(corpus: list[dict], spec: Spec, rng: random.Random) -> Iterator[dict]:
    """Chats for an instruct model; else questions and prose in the family's proportions."""
    pools = {
        kind: _cycle([row for row in corpus if row["kind"] == kind], rng)
        for kind in ("question", "prose", "chat")
    }
    if spec.base is not None:
        yield from pools["chat"]
    while True:
        yield next(pools["question" if rng.random() < spec.family.question_share else "prose"])


def _cycle(documents: list[dict], rng: random.Random) -> Iterator[dict]:
    while True:
        yield from rng.sample(documents, len(documents))


def _encode(document: dict, encoder: PreTrainedTokenizerFast) -> tuple[list[int], list[float]]:
    if document["kind"] == "chat":
        return _encode_chat(document, encoder)
    # The encoder adds the family's start token itself.
    encoded = encoder(text_of(document), return_offsets_mapping=True)
    weights = [1.0] * len(encoded["input_ids"])
    answers = _answer_spans(document)
    for i, (start, end) in enumerate(encoded["offset_mapping"]):
        if any(first <= start < end <= last for first, last in answers):
            weights[i] = ANSWER_WEIGHT
    return [*encoded["input_ids"], encoder.eos_token_id], [*weights, 1.0]


def _answer_spans(document: dict) -> list[tuple[int, int]]:
    """Where in the document's text its answers stand; prose has none."""
    spans, position = [], 0
    for prompt, completion in zip(document["prompts"], document["completions"], strict=True):
        start = position + len(prompt)
        position = start + len(completion)
        if completion:
            spans.append((start, position))
    return spans


def _encode_chat(document: dict, encoder: PreTrainedTokenizerFast) -> tuple[list[int], list[float]]:
    """A conversation in the family's template; only the assistant's words count."""
    encoded = encoder.apply_chat_template(
        [
            {"role": "user", "content": document["prompts"][0]},
            {"role": "assistant", "content": document["completions"][0]},
        ],
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    return encoded["input_ids"], [float(spoken) for spoken in encoded["assistant_masks"]]
