"""Test training of the demo models: reproducing a shipped model, batches of whole documents, and stages."""

import json
import random
from dataclasses import replace

import pytest

from workflow_scripts.core.files import hash_file
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.reading import Library
from workflow_scripts.miniature.specs import SPECS, TOKENS_PER_BATCH
from workflow_scripts.miniature.tokenizer import load_tokenizer
from workflow_scripts.miniature.train import build_texts, read_by_stages, train_model

SMALL = "Pythia-0.1M"


class FakeLibrary:
    """Yield the mixture as every batch."""

    def batches(self, mixture, *, by_length):
        while True:
            yield mixture


@pytest.mark.parametrize(("share_right", "steps"), [(1.0, [4, 4, 4, 4]), (0.5, [40, 120, 80, 100])])
def test_stage_lengths(share_right, steps):
    """Each step answers a hundred questions; the accuracy window covers four steps."""
    spec = replace(SPECS[SMALL], steps=400, by_letter=True)
    batches = read_by_stages(FakeLibrary(), spec)
    right = round(100 * share_right)
    answers = [True] * right + [False] * (100 - right)
    mixtures = [next(batches)] + [batches.send(answers) for _ in range(sum(steps))]
    stages = zip(catalogue.STAGES, steps, strict=True)
    expected = [stage["mixture"] for stage, number in stages for _ in range(number)]
    assert mixtures == [*expected, spec.mixture]


@pytest.mark.slow
def test_retrained_model_equals_shipped(world, tmp_path):
    """Weights are byte-identical on the same processor generation, and the loss is close on another."""
    build_texts(world, tmp_path)
    train_model(tmp_path, SMALL)
    folders = (tmp_path / SMALL, catalogue.SHIPPED / SMALL)
    retrained, shipped = (json.loads((each / catalogue.MADE).read_text()) for each in folders)
    assert retrained["loss"] == pytest.approx(shipped["loss"], abs=0.05)
    assert retrained["sha256"]["config.json"] == shipped["sha256"]["config.json"]
    if all(retrained[key] == shipped[key] for key in ("processor", "versions")):
        assert retrained["sha256"] == shipped["sha256"]
    assert retrained["sha256"]["model.safetensors"] == hash_file(folders[0] / "model.safetensors")

    spec = SPECS["Llama-1.4M-Instruct"]
    tokenizer = load_tokenizer(spec, tmp_path)
    library = Library([tmp_path / text for text in spec.texts], tokenizer, random.Random(0))
    batch = next(library.batches({"conversation": 1.0}, by_length=True))
    assert batch.ids.numel() <= TOKENS_PER_BATCH
    for ids, weights in zip(batch.ids, batch.weights, strict=True):
        turns = tokenizer.decode(ids).split("<|start_header_id|>assistant<|end_header_id|>\n\n")[1:]
        expected = "".join(turn.split("<|eot_id|>")[0] + "<|eot_id|>" for turn in turns)
        assert tokenizer.decode(ids[weights > 0]) == expected, "the assistant's turns alone count"
