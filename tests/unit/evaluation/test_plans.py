"""Test measurements of a model in many chunk plans: latency."""

from itertools import product

import torch

from tests.tiny_models import base_model
from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.plan_latency import (
    measure_latency,
    pad_left,
    time_greedy_generation,
)
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.plan_measures import LatencyMeasures

CHUNKED = Checkpoint(
    model=CHUNKABLE,
    mode="sequential",
    num_layers_per_chunk=1,
    aggregation_mode="mean",
    use_adapters=False,
)
PRUNED = Checkpoint(model=CHUNKABLE, mode="prune", layers_to_prune=(1,))


def test_latency_conditions(world, chunkable, tmp_path):
    measures = LatencyMeasures(
        batch_sizes=(1, 2), questions=2, new_tokens=2, repeats=3, devices=(1, 2)
    )
    request = LatencyRequest(
        plans=(CHUNKED, PRUNED), measures=measures, compute=Loading(device="cpu"), seed=0
    )
    data = [world / "datasets/cais/mmlu/manifest.json"]
    measure_latency(chunkable, data, tmp_path / "mmlu.json", request.to_params())
    record = read_complete_record(tmp_path / "mmlu.json")
    conditions = {metric.condition for metric in record.metrics}
    chunked = product(("unchanged", "fused", "loop"), (1, 2), (None, 2))
    # A pruned model is timed at one batch size, which shows the speedup.
    expected = {*chunked, ("unchanged", 1, None), ("loop", 1, None)}
    assert {(c.way, c.batch, c.devices) for c in conditions} == expected
    assert {metric.n for metric in record.metrics} == {3}


def test_greedy_generation_is_timed():
    """The tokens fed back equal the output of `generate` for the same padded batch."""
    model = base_model("qwen2", 3)
    ids, mask = pad_left([[5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15]], "cpu")
    fed = []
    model.register_forward_pre_hook(
        lambda _m, args, options: fed.append((args or (options.get("input_ids"),))[0]),
        with_kwargs=True,
    )
    assert min(time_greedy_generation(model, [(ids, mask)], new_tokens=4)) > 0
    written = torch.cat(fed[1:], dim=1)
    options = {"max_new_tokens": 3, "do_sample": False, "eos_token_id": None}
    expected = model.generate(ids, attention_mask=mask, **options)
    assert torch.equal(written, expected[:, ids.shape[1] :])
