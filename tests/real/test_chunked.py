"""Compare real weights in every chunking mode with the reference."""

import pytest
import torch

from tests.real.conftest import CPU
from tests.unit.chunked.reference import compute_reference_logits
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.checkpoint import Checkpoint

pytestmark = pytest.mark.real

TEXT = "The mitochondrion is the powerhouse of the cell. Glucose is broken down in the cytosol, and"
PLANS = {
    "sequential": {"num_layers_per_chunk": 10},
    "uniform": {"num_layers_per_chunk": 15},
    "sequential_with_first_layer": {"num_layers_per_chunk": 29},
    "uniform_with_first_layer": {"num_layers_per_chunk": 1},
    "sequential_with_shared_start": {"num_layers_per_chunk": 10},
    "uniform_with_shared_start": {"num_layers_per_chunk": 10},
    "sequential_with_shared_start_and_end": {"num_layers_per_chunk": 6, "num_chunks": 4},
    "uniform_with_shared_start_and_end": {"num_layers_per_chunk": 12, "num_chunks": 2},
    "prune": {"layers_to_prune": (3, 17, 30)},
}


def load_chunked(manifest, **keys):
    checkpoint = Checkpoint(model="any/name", **keys)
    return load_model(manifest, chunking=checkpoint.keys, **CPU).model


@pytest.fixture(scope="module")
def ids(loaded):
    return loaded.tokenizer(TEXT, return_tensors="pt").input_ids


@torch.no_grad()
def test_unchanged_plan(manifest, loaded, ids):
    same = load_chunked(manifest, num_chunks=0, num_layers_per_chunk=0)
    assert torch.equal(same(ids).logits, loaded.model(ids).logits)
    models = (same, loaded.model)
    outputs = [model.generate(ids, max_new_tokens=12, do_sample=False) for model in models]
    assert torch.equal(*outputs)


@pytest.mark.parametrize("mode", PLANS)
@torch.no_grad()
def test_chunking_mode(manifest, loaded, ids, mode):
    torch.manual_seed(0)
    model = load_chunked(manifest, mode=mode, **PLANS[mode])
    for name, parameter in model.named_parameters():
        if "wrapped_chunk_layers" in name:  # non-initial values, as after training
            parameter.add_(torch.randn_like(parameter) * 0.01)
    expected = compute_reference_logits(loaded.model, model, ids)
    assert not torch.allclose(expected, loaded.model(ids).logits, atol=0.1)
    difference = float((model(ids).logits - expected).abs().max())
    assert difference <= 1e-4 * max(1.0, float(expected.abs().max()))
