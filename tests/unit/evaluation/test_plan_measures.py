"""Test measurements of a model in many chunk plans: perplexity, generated text and latency."""

import math
from itertools import product

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import base_model, make_tiny_model, put_in_hub
from tests.tiny_tokenizers import DEFAULT_SYSTEM, QWEN, with_template
from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.measure_latency import (
    measure_latency,
    pad_left,
    time_greedy_generation,
)
from workflow_scripts.evaluation.measure_written import PROMPT, measure_written
from workflow_scripts.evaluation.requests import LatencyRequest, WrittenRequest
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute, Loading
from workflow_scripts.settings.plan_measures import (
    LatencyMeasures,
    WrittenMeasures,
)

CHUNKED = Checkpoint(
    model=CHUNKABLE,
    mode="sequential",
    num_layers_per_chunk=1,
    aggregation_mode="mean",
    use_adapters=False,
)
PRUNED = Checkpoint(model=CHUNKABLE, mode="prune", layers_to_prune=(1,))
COMPUTE = {"compute": Compute(device="cpu", dtype="float32"), "seed": 0}


@pytest.fixture(scope="module")
def tokenizer():
    return with_template(QWEN)


@pytest.fixture(scope="module")
def manifest(tokenizer, tmp_path_factory):
    model = make_tiny_model("qwen2", len(tokenizer), window=256, layers=6)
    return put_in_hub(model, tmp_path_factory.mktemp("base"), tokenizer)


CHAT = (
    f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>user\n{{}}<|im_end|>\n"
    "<|im_start|>assistant\n"
)


@torch.no_grad()
def test_written_perplexity_equals_plain(manifest, tokenizer, tmp_path):
    """Compare with transformers' generation without a cache, and with transformers' loss."""
    path = tmp_path / "written.json"
    measures = WrittenMeasures(written_tokens=7)
    request = WrittenRequest(plans=(CHUNKED,), measures=measures, **COMPUTE)
    measure_written(manifest, path, request.to_params())
    record = read_complete_record(path)
    base = AutoModelForCausalLM.from_pretrained(manifest.parent).eval()
    chunked = load_model(manifest, chunking=CHUNKED.keys, **COMPUTE["compute"].loading).model
    metrics = [metric for metric in record.metrics if metric.name == "perplexity"]
    ids = tokenizer(CHAT.format(PROMPT), return_tensors="pt")["input_ids"]
    for writer, metric in zip((base, chunked), metrics, strict=True):
        row = writer.generate(ids, max_new_tokens=7, do_sample=False, use_cache=False)
        response = tokenizer.decode(row[0, ids.shape[1] :])
        row = torch.cat([ids, row], dim=1)
        loss = float(base(row, labels=row, use_cache=False).loss)
        assert metric.value == pytest.approx(math.exp(loss), rel=1e-3)
    assert read_items(path).to_pylist()[-1]["prediction"] == response


def test_latency_conditions(world, chunkable, tmp_path):
    measures = LatencyMeasures(
        batch_sizes=(1, 2),
        questions=2,
        new_tokens=2,
        repeats=3,
        devices=(1, 2),
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
