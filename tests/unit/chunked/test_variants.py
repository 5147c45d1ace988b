"""Test that every variant equals the reference before and after training, saving and loading.

The reference trains copies of the weights on the same losses with plain autograd.
"""

import itertools

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import FAMILIES, base_model, chunked_model
from tests.unit.chunked.reference import (
    assert_equal,
    compute_reference_logits,
    compute_reference_loss,
    fresh_ids,
    get_added_weights,
)
from workflow_scripts.core.chunk_plan import BOTH_SIDES

PLANS = {
    "sequential": {"num_layers_per_chunk": 2},
    "uniform": {"num_layers_per_chunk": 2},
    "sequential_with_first_layer": {"num_layers_per_chunk": 1},
    "uniform_with_first_layer": {"num_layers_per_chunk": 3},
    "sequential_with_shared_start": {"num_layers_per_chunk": 2},
    "uniform_with_shared_start": {"num_layers_per_chunk": 1},
    f"sequential{BOTH_SIDES}": {"num_layers_per_chunk": 1},
    f"uniform{BOTH_SIDES}": {"num_layers_per_chunk": 1},
    "prune": {"layers_to_prune": [2]},
}
LAYERS, STEPS, RATE = 4, 2, 0.02
AGGREGATIONS = ["mlp.residual", "mlp.mean", "mlp.none", "mean", "last", "residual"]
LOSSES = [(), ("distillation",), ("logits_distillation",), ("distillation", "logits_distillation")]
# Half of the pairs of mode and aggregation; the other choices alternate.
VARIANTS = [
    (mode, aggregation, FAMILIES[(m + a) % 3], LOSSES[(m + a) % 4], (m + a // 2) % 2 == 0)
    for (m, mode), (a, aggregation) in itertools.product(enumerate(PLANS), enumerate(AGGREGATIONS))
    if mode != "prune" and (m + a) % 2 == 0
]
VARIANTS += [("prune", "mean", family, (), False) for family in FAMILIES[:1]]


@pytest.mark.parametrize(("mode", "aggregation", "family", "losses", "adapters"), VARIANTS)
def test_training_and_saving(mode, aggregation, family, losses, adapters, tmp_path):
    kind, _, aggregation_base = aggregation.partition(".")
    base = base_model(family, LAYERS)
    model = chunked_model(
        base,
        chunking_mode=mode,
        aggregation_mode=kind,
        aggregation_base=aggregation_base or "residual",
        use_adapters=adapters,
        adapter_hidden_size=5,
        **PLANS[mode],
        **dict.fromkeys(losses, True),
    )
    train_both(base, model)
    ids = fresh_ids(2, 6)
    with torch.no_grad():
        assert_near(model.eval()(ids).logits, compute_reference_logits(base, model, ids))
        model.save_pretrained(tmp_path)
        again = AutoModelForCausalLM.from_pretrained(tmp_path)
        assert torch.equal(again(ids).logits, model(ids).logits)
        again.config.chunk_execution = "loop"
        assert_near(again(ids).logits, compute_reference_logits(base, again, ids))


def train_both(base, model) -> None:
    """Train the reference and the model; compare the losses of each step, and all final weights."""
    added = {
        name: w.detach().clone().requires_grad_() for name, w in get_added_weights(model).items()
    }
    plain = torch.optim.SGD([*base.parameters(), *added.values()], lr=RATE)
    fused = torch.optim.SGD(model.train().parameters(), lr=RATE)
    for _ in range(STEPS):
        ids = fresh_ids(2, 6)
        labels = ids.clone()
        labels[0, :3] = -100
        expected = compute_reference_loss(base, model.config, added, ids, labels)
        loss = model(ids, labels=labels, use_cache=False).loss
        assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
        for optimizer, value in ((plain, expected), (fused, loss)):
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    weights = dict(base.named_parameters())
    weights |= {f"model.wrapped_chunk_layers.{name}": weight for name, weight in added.items()}
    for name, weight in model.named_parameters():
        assert_near(weight, weights[name])


def assert_near(values, expected) -> None:
    assert_equal(values, expected, torch.ones(values.shape), 1e-4)
