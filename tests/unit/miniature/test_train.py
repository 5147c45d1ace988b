"""Training: the shipped model again, whole documents in a batch, stages that are left when they are learned."""

import json
import random

import pytest

from workflow_scripts.core.files import hash_file
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.build_corpus import build_texts
from workflow_scripts.miniature.reading import Library
from workflow_scripts.miniature.specs import SPECS, STAGES, TOKENS_PER_BATCH, Spec
from workflow_scripts.miniature.tokenizer import load_tokenizer
from workflow_scripts.miniature.train import read_by_stages, train_model

SMALL = "Pythia-0.1M"


class FakeLibrary:
    """Yields each time the diet that it was given."""

    def batches(self, diet, *, by_length):
        while True:
            yield diet


@pytest.mark.parametrize(("share_right", "steps"), [(1.0, [4, 4, 4, 4]), (0.5, [40, 120, 80, 100])])
def test_stage_is_left_when_learned_or_over(share_right, steps):
    """Each step answers a hundred questions; four steps fill what is watched."""
    spec = Spec(SPECS[SMALL].family, *[1] * 5, steps=400, by_letter=True)
    batches = read_by_stages(FakeLibrary(), spec)
    right = round(100 * share_right)
    answers = [True] * right + [False] * (100 - right)
    read = [next(batches)] + [batches.send(answers) for _ in range(sum(steps))]
    stages = zip(STAGES, steps, strict=True)
    expected = [stage["diet"] for stage, number in stages for _ in range(number)]
    assert read == [*expected, spec.diet]


@pytest.mark.slow
def test_the_smallest_model_trained_again_is_the_shipped_one(world, tmp_path):
    """On a processor of the same generation to the last byte; on another within what rounding makes of it."""
    build_texts(world, tmp_path)
    train_model(tmp_path, SMALL)
    folders = (tmp_path / SMALL, catalogue.SHIPPED / SMALL)
    again, first = (json.loads((each / catalogue.MADE).read_text()) for each in folders)
    assert again["loss"] == pytest.approx(first["loss"], abs=0.05)
    assert again["sha256"]["config.json"] == first["sha256"]["config.json"]
    if all(again[key] == first[key] for key in ("processor", "versions")):
        assert again["sha256"] == first["sha256"]
    assert again["sha256"]["model.safetensors"] == hash_file(folders[0] / "model.safetensors")

    spec = SPECS["Llama-1.4M-Instruct"]
    tokenizer = load_tokenizer(tmp_path / catalogue.TOKENIZER, spec.family)
    library = Library([tmp_path / text for text in spec.texts], tokenizer, random.Random(0))
    batch = next(library.batches({"conversation": 1.0}, by_length=True))
    assert batch.ids.numel() <= TOKENS_PER_BATCH
    for ids, weights in zip(batch.ids, batch.weights, strict=True):
        turns = tokenizer.decode(ids).split("<|start_header_id|>assistant<|end_header_id|>\n\n")[1:]
        expected = "".join(turn.split("<|eot_id|>")[0] + "<|eot_id|>" for turn in turns)
        assert tokenizer.decode(ids[weights > 0]) == expected, "the assistant's turns alone count"
