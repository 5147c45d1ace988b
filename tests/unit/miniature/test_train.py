"""Training: the same bytes for the same seed, a falling loss, and files the libraries can read."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.models import SPECS, make_config, make_model
from workflow_scripts.miniature.reading import batches_of
from workflow_scripts.miniature.train import optimise, train_model

SMALL = "Pythia-0.1M"


def weights(hub, name):
    return sha256_file(hub / "models/miniature" / name / "model.safetensors")


def test_trained_twice_the_same_bytes_and_another_seed_differs(world):
    found = []
    for seed in (0, 0, 1):
        train_model(world, "Qwen2-0.2M", seed=seed, effort=0.01)
        found.append(weights(world, "Qwen2-0.2M"))
    assert found[0] == found[1] != found[2]


def test_the_loss_falls(world):
    torch.manual_seed(0)
    model = make_model(make_config(SPECS[SMALL], bos=0, eos=0, pad=0))
    losses = optimise(model, batches_of(world, SMALL, seed=0), steps=25, learning_rate=1e-2)
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_an_instruct_model_goes_on_from_its_base_and_stops_at_the_end_of_a_turn(world):
    train_model(world, "Qwen2-1M", seed=0, effort=0.004)
    train_model(world, "Qwen2-1M-Instruct", seed=0, effort=0.02)
    folder = world / "models/miniature/Qwen2-1M-Instruct"
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder),
        AutoTokenizer.from_pretrained(folder),
    )
    assert tokenizer.convert_tokens_to_ids("<|im_end|>") in model.generation_config.eos_token_id
    assert weights(world, "Qwen2-1M-Instruct") != weights(world, "Qwen2-1M")
    assert model.config.num_hidden_layers == 24


def test_the_manifest_says_what_the_model_is(world, model_manifest):
    manifest = read_manifest(model_manifest)
    assert (manifest.architecture, manifest.kind) == ("GPTNeoXForCausalLM", "model")
    assert (
        manifest.parameters
        == AutoModelForCausalLM.from_pretrained(model_manifest.parent).num_parameters()
    )


def test_the_catalogue_names_the_models_there_are():
    assert set(catalogue.MODELS) == set(SPECS)
    assert {name: spec.base for name, spec in SPECS.items() if spec.base} == catalogue.BASE_OF


@pytest.mark.parametrize("name", SPECS)
def test_a_name_tells_the_size(name):
    spec = SPECS[name]
    millions = make_model(make_config(spec, bos=0, eos=0, pad=0)).num_parameters() / 1e6
    named = float(name.split("-")[1].removesuffix("M"))
    assert named == pytest.approx(millions, rel=0.3)
    assert millions <= 3.2
