"""What plans write, and its perplexity under the unchanged model, against transformers' own loss."""

import math
import statistics

import pytest
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import DEFAULT_SYSTEM, QWEN, with_template
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.measure_written import measure_written
from workflow_scripts.evaluation.requests import WrittenRequest
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.plan_measures import WrittenMeasures

PROMPTS = ("What do you see?", "The fox sees the dog, and you?")
PLAN = Checkpoint(
    model="org/base",
    mode="sequential",
    num_layers_per_chunk=3,
    aggregation_mode="mean",
    use_adapters=False,
)


@pytest.fixture(scope="module")
def tokenizer():
    return with_template(QWEN)


@pytest.fixture(scope="module")
def manifest(tokenizer, tmp_path_factory):
    model = tiny_model("qwen2", len(tokenizer), window=256, layers=6)
    return put_in_hub(model, tmp_path_factory.mktemp("base"), tokenizer)


def measured(manifest, path, *, perplexity_mean="tokens", **keys):
    request = WrittenRequest(
        plans=(PLAN,),
        measures=WrittenMeasures(
            **{"written_tokens": 7, "written_prompts": PROMPTS, "written_scored": "response"} | keys
        ),
        perplexity_mean=perplexity_mean,
        compute=Compute(device="cpu"),
        seed=3,
    )
    measure_written(manifest, path, request)
    return read_complete_record(path)


def perplexities(record):
    return {m.condition.plan: m for m in record.metrics if m.name == "perplexity"}


def asked(tokenizer, prompt):
    return tokenizer(
        f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>user\n{prompt}<|im_end|>\n"
        "<|im_start|>assistant\n",
        return_tensors="pt",
    )["input_ids"]


@torch.no_grad()
def write_likeliest(model, ids, tokens):
    """One token after the other, of the whole text each time."""
    for _ in range(tokens):
        ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return ids


@pytest.mark.parametrize(("scored", "mean"), [("response", "tokens"), ("published", "windows")])
@torch.no_grad()
def test_what_each_plan_writes_is_read_by_the_unchanged_model(
    manifest, tokenizer, tmp_path, scored, mean
):
    path = tmp_path / "written.json"
    record = measured(manifest, path, written_scored=scored, perplexity_mean=mean)
    base = AutoModelForCausalLM.from_pretrained(manifest.parent).eval()
    chunked = load_model(manifest, chunking=PLAN.keys, **Compute(device="cpu").loading).model
    metrics = perplexities(record)
    assert list(metrics) == ["k0m0", "k2m3-sequential"]
    for writer, metric in zip((base, chunked), metrics.values(), strict=True):
        losses, sizes = [], []
        for prompt in PROMPTS:
            ids = asked(tokenizer, prompt)
            row = write_likeliest(writer, ids, 7)
            response = tokenizer.decode(row[0, ids.shape[1] :])
            labels = row.clone()
            labels[:, : ids.shape[1]] = -100
            if scored == "published":
                row = labels = torch.cat([ids, row], dim=1)
            losses.append(float(base(row, labels=labels, use_cache=False).loss))
            sizes.append(int((labels[:, 1:] != -100).sum()))
        weights = sizes if mean == "tokens" else None
        loss = statistics.fmean(losses, weights)
        assert metric.value == pytest.approx(math.exp(loss), rel=1e-3)
        assert metric.n == len(PROMPTS)
    items = read_items(path.with_suffix(".parquet")).to_pylist()
    assert items[-1]["prediction"] == response


def test_tokens_are_drawn_as_the_generation_config_says_and_the_same_each_time(tokenizer, tmp_path):
    model = tiny_model("qwen2", len(tokenizer), window=256, layers=6)
    model.generation_config = GenerationConfig(do_sample=True, temperature=5.0, pad_token_id=0)
    drawn = put_in_hub(model, tmp_path / "drawn", tokenizer)
    records = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        records.append(measured(drawn, tmp_path / f"{seed}.json"))
        assert torch.equal(torch.get_rng_state(), before)
    first, second = records
    assert first.metrics == second.metrics
    assert first.protocol.generation["model_generation_config"]["temperature"] == 5.0
    model.generation_config = GenerationConfig(pad_token_id=0)
    likeliest = measured(put_in_hub(model, tmp_path / "greedy", tokenizer), tmp_path / "third.json")
    assert perplexities(likeliest)["k0m0"].value < perplexities(first)["k0m0"].value
