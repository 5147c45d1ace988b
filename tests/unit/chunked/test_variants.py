"""Every variant, before and after training, saved and loaded, against the model written out plainly.

The plain one is trained beside it by autograd alone, on the same losses, from copies of the weights.
"""

import itertools

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import FAMILIES, base_model, chunked_model
from tests.unit.chunked.reference import (
    added_weights,
    assert_equal,
    fresh_ids,
    reference_logits,
    reference_loss,
)
from workflow_scripts.core.plan import BOTH_SIDES

PLANS = {
    "sequential": {"num_layers_per_chunk": 2},
    "uniform": {"num_layers_per_chunk": 2},
    "sequential_with_first_layer": {"num_layers_per_chunk": 1},
    "uniform_with_first_layer": {"num_layers_per_chunk": 3},
    "sequential_with_shared_start": {"num_layers_per_chunk": 2},
    "uniform_with_shared_start": {"num_layers_per_chunk": 1},
    f"sequential{BOTH_SIDES}": {"num_layers_per_chunk": 1, "layers_before_chunks": 0},
    f"uniform{BOTH_SIDES}": {"num_layers_per_chunk": 1},
    "prune": {"layers_to_prune": [2]},
}
LAYERS = 4
AGGREGATIONS = ["mlp.residual", "mlp.mean", "mlp.none", "mean", "last", "residual"]
TAUGHT = [(), ("distillation",), ("logits_distillation",), ("distillation", "logits_distillation")]
STEPS, RATE = 2, 0.02


def variants():
    """Each mode, aggregation and adapters; families and distillations take turns, so that all meet all."""
    axes = (FAMILIES, PLANS, AGGREGATIONS, (True, False))
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        family, mode, aggregation, adapters = (
            tuple(axis)[at] for axis, at in zip(axes, places, strict=True)
        )
        if mode != "prune" and sum(places) % len(FAMILIES) == 0:
            yield family, mode, aggregation, adapters, TAUGHT[sum(places[1:]) % len(TAUGHT)]
    # Which has no chunks, and so nothing to choose.
    yield from ((family, "prune", "mean", False, ()) for family in FAMILIES)


@pytest.mark.parametrize(("family", "mode", "aggregation", "adapters", "taught"), [*variants()])
def test_before_and_after_training_saved_and_loaded(
    family, mode, aggregation, adapters, taught, tmp_path
):
    kind, _, added_to = aggregation.partition(".")
    base = base_model(family, LAYERS)
    model = chunked_model(
        base,
        chunking_mode=mode,
        aggregation_mode=kind,
        aggregation_base=added_to or "residual",
        use_adapters=adapters,
        adapter_hidden_size=5,
        **PLANS[mode],
        **dict.fromkeys(taught, True),
    )
    launch_processes(base, model)
    ids = fresh_ids(2, 6)
    with torch.no_grad():
        assert_near(model.eval()(ids).logits, reference_logits(base, model, ids))
        model.save_pretrained(tmp_path)
        again = AutoModelForCausalLM.from_pretrained(tmp_path)
        assert torch.equal(again(ids).logits, model(ids).logits)
        again.config.chunk_execution = "loop"
        assert_near(again(ids).logits, reference_logits(base, again, ids))


def launch_processes(base, model) -> None:
    """The losses are the same at each step, and so are all weights in the end."""
    new = {
        name: weight.detach().clone().requires_grad_()
        for name, weight in added_weights(model).items()
    }
    weights, ours = [*base.parameters(), *new.values()], model.train().parameters()
    plain, fused = torch.optim.SGD(weights, lr=RATE), torch.optim.SGD(ours, lr=RATE)
    for _ in range(STEPS):
        ids = fresh_ids(2, 6)
        labels = ids.clone()
        labels[0, :3] = -100
        expected = reference_loss(base, model.config, new, ids, labels)
        loss = model(ids, labels=labels, use_cache=False).loss
        assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
        for optimiser, found in ((plain, expected), (fused, loss)):
            optimiser.zero_grad()
            found.backward()
            optimiser.step()
    theirs = dict(base.named_parameters())
    theirs |= {f"model.wrapped_chunk_layers.{name}": weight for name, weight in new.items()}
    for name, weight in model.named_parameters():
        assert_near(weight, theirs[name])


def assert_near(found, expected) -> None:
    assert_equal(found, expected, torch.ones(found.shape), 1e-4)
