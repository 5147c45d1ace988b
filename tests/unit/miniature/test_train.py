"""Training: the same bytes again, a falling loss, stages that are left when they are learned."""

import json
import random
import shutil
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from workflow_scripts.core.files import sha256_file
from workflow_scripts.core.provenance import processor
from workflow_scripts.miniature import catalogue, specs
from workflow_scripts.miniature.conversations import write_conversations
from workflow_scripts.miniature.corpus import build_corpus
from workflow_scripts.miniature.curriculum import WATCHED, Curriculum, Stage
from workflow_scripts.miniature.models import make_config, make_model
from workflow_scripts.miniature.reading import Library
from workflow_scripts.miniature.specs import SPECS, TOKENS_PER_BATCH
from workflow_scripts.miniature.tokenizer import family_tokenizer
from workflow_scripts.miniature.train import train_model
from workflow_scripts.miniature.world import make_world

SMALL = "Pythia-0.1M"


@pytest.fixture(scope="module")
def reading(world, tmp_path_factory):
    """A folder with the texts and the tokenizer that comes with Chorus."""
    folder = tmp_path_factory.mktemp("retrained")
    build_corpus(world, make_world(), folder / catalogue.CORPUS)
    write_conversations(make_world(), folder / catalogue.CONVERSATIONS)
    shutil.copy(catalogue.SHIPPED / catalogue.TOKENIZER, folder)
    return folder


def library(reading, name=SMALL):
    encoder = family_tokenizer(reading / catalogue.TOKENIZER, SPECS[name].family)
    return Library([reading / text for text in SPECS[name].texts], encoder, random.Random(0))


def shortened(monkeypatch, steps: int) -> None:
    for name, spec in SPECS.items():
        monkeypatch.setitem(specs.SPECS, name, replace(spec, steps=steps))


@pytest.mark.slow
def test_trained_twice_the_same_bytes(reading, monkeypatch):
    shortened(monkeypatch, 4)
    found = []
    for _ in range(2):
        train_model(reading, "Qwen2-0.2M")
        found.append(sha256_file(reading / "Qwen2-0.2M/model.safetensors"))
    assert found[0] == found[1]


@pytest.mark.slow
def test_an_instruct_model_goes_on_from_its_base(reading, monkeypatch):
    shortened(monkeypatch, 1)
    train_model(reading, "Qwen2-1M")
    train_model(reading, "Qwen2-1M-Instruct")
    base, instruct = (
        load_file(reading / name / "model.safetensors")
        for name in ("Qwen2-1M", "Qwen2-1M-Instruct")
    )
    apart = max((base[name] - instruct[name]).float().abs().max() for name in base)
    assert 0 < apart < 0.1


@pytest.mark.slow
def test_a_batch_holds_whole_documents_and_looks_at_their_last_answer(reading):
    books = library(reading, "Llama-1.4M")
    batch = next(books.batches({"letters": 0.5, "papers": 0.5}, by_length=True))
    assert batch.ids.numel() <= TOKENS_PER_BATCH
    encoder = books.encoder
    starts = batch.ids[:, 0]
    assert (starts == encoder.bos_token_id).all()
    asked = batch.answers.any(dim=1)
    assert asked.float().mean() > 0.8  # a paper of six questions may be longer than a row
    letters = {encoder.decode([token]).strip() for token in batch.ids[batch.answers].tolist()}
    assert letters == set("ABCD")
    # What fills a row up counts nothing.
    filled = (batch.ids == encoder.pad_token_id) & (batch.weights == 0)
    assert (batch.ids[:, -1][filled[:, -1]] == encoder.pad_token_id).all()


@pytest.mark.slow
def test_a_conversation_counts_by_what_the_assistant_says_in_every_turn(reading):
    books = library(reading, "Llama-1.4M-Instruct")
    batch = next(books.batches({"conversation": 1.0}, by_length=True))
    texts = books.encoder.batch_decode(batch.ids)
    spoken = [
        books.encoder.decode(ids[weights > 0])
        for ids, weights in zip(batch.ids, batch.weights, strict=True)
    ]
    assert any("<|start_header_id|>system<|end_header_id|>" in text for text in texts)
    for text, said in zip(texts, spoken, strict=True):
        turns = text.split("<|start_header_id|>assistant<|end_header_id|>\n\n")[1:]
        assert said == "".join(turn.split("<|eot_id|>")[0] + "<|eot_id|>" for turn in turns)


STAGES = (
    Stage({"pairs": 1.0}, right=0.9, share=0.25),
    Stage({"lists": 1.0}, right=0.9, share=0.25),
)


def read(curriculum: Curriculum, steps: int, share: float) -> None:
    right = round(100 * share)
    for _ in range(steps):
        curriculum.saw([True] * right + [False] * (100 - right))


def test_a_stage_is_left_when_it_is_learned_and_not_before():
    curriculum = Curriculum(STAGES, {"prose": 1.0}, steps=400)
    read(curriculum, WATCHED // 100 - 1, 1.0)
    assert curriculum.diet == {"pairs": 1.0}
    read(curriculum, 1, 1.0)
    assert curriculum.diet == {"lists": 1.0}
    read(curriculum, 50, 0.6)
    assert curriculum.diet == {"lists": 1.0}
    read(curriculum, WATCHED // 100, 0.95)
    assert curriculum.diet == {"prose": 1.0}


def test_a_stage_that_is_not_learned_is_left_when_its_share_of_the_steps_is_over():
    curriculum = Curriculum(STAGES, {"prose": 1.0}, steps=400)
    read(curriculum, 99, 0.5)
    assert curriculum.diet == {"pairs": 1.0}
    read(curriculum, 1, 0.5)
    assert curriculum.diet == {"lists": 1.0}


@pytest.mark.slow
def test_the_smallest_model_trained_again_is_the_shipped_one(world, reading):
    """On a processor of the same generation to the last byte; on another within what rounding makes of it."""
    train_model(reading, SMALL)
    again, there = reading / SMALL, catalogue.SHIPPED / SMALL
    made, first = (json.loads((folder / catalogue.MADE).read_text()) for folder in (again, there))
    assert made["loss"] == pytest.approx(first["loss"], abs=0.05)
    if all(made[what] == first[what] for what in ("processor", "versions")):
        assert sha256_file(again / "model.safetensors") == sha256_file(there / "model.safetensors")
    assert made["processor"] == processor()


@pytest.mark.parametrize("name", SPECS)
def test_a_name_tells_the_size(name):
    spec = SPECS[name]
    millions = make_model(make_config(spec, bos=0, eos=0, pad=0)).num_parameters() / 1e6
    named = float(name.split("-")[1].removesuffix("M"))
    assert named == pytest.approx(millions, rel=0.3)
    assert sum(spec.diet.values()) == pytest.approx(1)
