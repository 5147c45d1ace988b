"""What the plan says of memory and what the engine then finds: the same, on every card, of every model."""

from types import SimpleNamespace

import pytest
import torch

from tests.unit.planning.test_needs import ROOT, planner
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.planning.arithmetic import size_of
from workflow_scripts.planning.memory import (
    BYTES,
    DEVICE_MB,
    GPU_SHARE,
    MB,
    SMALLEST_BLOCK,
    least_evaluation_bytes,
    logit_rows,
    positions_at_once,
    scored_bytes,
    tokens_within,
    trained_logit_bytes,
)
from workflow_scripts.settings.tables import read_devices, read_models

MODELS = read_models(ROOT / "config/models.tsv")
GPUS = [row for row in read_devices(ROOT / "config/devices.tsv").values() if row.device != "cpu"]
# As published: vocabulary, hidden state, inside of the MLP, and keys and values of a layer.
SHAPES = {
    "openai-community/gpt2-xl": (50_257, 1_600, 6_400, 3_200),
    "meta-llama/Llama-3.1-8B": (128_256, 4_096, 14_336, 2_048),
    "meta-llama/Llama-3.2-1B": (128_256, 2_048, 8_192, 1_024),
    "Qwen/Qwen1.5-0.5B": (151_936, 1_024, 2_816, 2_048),
    "Qwen/Qwen1.5-7B": (151_936, 4_096, 11_008, 8_192),
    "Qwen/Qwen1.5-14B": (152_064, 5_120, 13_696, 10_240),
    "Qwen/Qwen2.5-0.5B": (151_936, 896, 4_864, 256),
    "Qwen/Qwen2.5-3B": (151_936, 2_048, 11_008, 512),
    "Qwen/Qwen2.5-7B": (152_064, 3_584, 18_944, 1_024),
    "Qwen/Qwen2.5-14B": (152_064, 5_120, 13_824, 2_048),
    "EleutherAI/pythia-70m-deduped": (50_304, 512, 2_048, 1_024),
    "EleutherAI/pythia-6.9b-deduped": (50_432, 4_096, 16_384, 8_192),
    "EleutherAI/pythia-12b": (50_688, 5_120, 20_480, 10_240),
    "google/gemma-2b": (256_000, 2_048, 16_384, 512),
    "google/gemma-7b": (256_000, 3_072, 24_576, 8_192),
    "google/gemma-2-2b": (256_000, 2_304, 9_216, 2_048),
    "google/gemma-2-9b": (256_000, 3_584, 14_336, 4_096),
    "01-ai/Yi-6B": (64_000, 4_096, 11_008, 1_024),
    "01-ai/Yi-1.5-9B": (64_000, 4_096, 11_008, 1_024),
    "HuggingFaceTB/SmolLM2-135M": (49_152, 576, 1_536, 384),
}


def test_every_family_of_the_table_is_there():
    hub = {row.family for row in MODELS.values() if row.source == "huggingface"}
    assert {MODELS[name].family for name in SHAPES} == hub


def engines_budget(name: str, dtype: str, free: int) -> Budget:
    """As the engine has it with so much free beside the weights."""
    vocabulary, hidden, inside, keys_and_values = SHAPES[name]
    item = BYTES[dtype]
    matrices = [torch.empty(vocabulary, hidden, device="meta")]
    matrices += [torch.empty(inside, hidden, device="meta")]
    model = SimpleNamespace(
        model=SimpleNamespace(parameters=lambda: iter(matrices), config=None),
        dtype=getattr(torch, dtype),
        vocabulary=vocabulary,
        device="cuda",
        attention="sdpa",
        by_branch=True,
        cache_bytes=MODELS[name].layers * keys_and_values * item,
        selects_logits=True,
        selects_by_row=True,
    )
    return Budget.of(model, int(GPU_SHARE * free))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("length", [100, 1_000, 2_000])
def test_where_the_plan_sees_room_the_engine_computes_blocks(dtype, length):
    """Of every card and vocabulary, never a row a call; and a little more memory is never a little less."""
    fitting = 0
    for gpu in GPUS:
        for name in SHAPES:
            size = size_of(MODELS[name])
            room = gpu.memory_gb * 1_000 * MB - DEVICE_MB * MB
            if least_evaluation_bytes(size, dtype, length) > room:
                continue  # which the plan refuses, below
            fitting += 1
            budget = engines_budget(name, dtype, room - size.weights(dtype))
            assert budget.logit_rows >= SMALLEST_BLOCK, (gpu.device, name)
            tokens = budget.block(length, 2**16)
            assert tokens >= SMALLEST_BLOCK, (gpu.device, name)
            assert budget.packed_bytes(tokens, length + tokens, 1) <= budget.bytes
    assert fitting > 100


def test_24_gb_hold_hundreds_of_rows_of_the_largest_vocabularies():
    room = 24_000 * MB - DEVICE_MB * MB
    for name in ("Qwen/Qwen2.5-7B", "google/gemma-7b"):
        free = room - size_of(MODELS[name]).weights("bfloat16")
        assert engines_budget(name, "bfloat16", free).logit_rows > 200, name


@pytest.mark.parametrize("vocabulary", sorted({shape[0] for shape in SHAPES.values()}))
def test_rows_of_logits_grow_with_the_budget_and_fit_their_share(vocabulary):
    before = 0
    for budget in [2**at + more for at in range(20, 38) for more in (0, 2 ** (at - 1))]:
        rows = logit_rows(budget, vocabulary, 2, "cuda")
        assert rows >= before
        before = rows
        taken = rows * 4 * vocabulary + scored_bytes(rows, vocabulary, "cuda")
        more = taken + 4 * vocabulary + scored_bytes(1, vocabulary, "cuda")
        assert taken <= budget // 4 < more, "one row more would not"


def test_what_holds_no_row_at_all_is_refused_with_the_memory_that_it_needs():
    with pytest.raises(UserError, match=r"256,000 tokens; it needs at least \d+ MB"):
        engines_budget("google/gemma-7b", "bfloat16", 10 * MB)


def test_the_plan_refuses_by_name_what_leaves_no_room_for_blocks():
    """In float32 the weights of Qwen2.5-7B are 30.5 GB, and a V100 has 32."""
    config = {"source": "huggingface", "compute": {"dtype": "float32", "device": "cuda"}}
    config |= {"harmony": {"models": ["Qwen/Qwen2.5-7B"], "protocols": ["direct"]}}
    config |= {"chunking": {"checkpoints": []}, "prompts": {"models": []}}
    config |= {"cluster": {"gpu": "V100-32GB", "gpus_per_node": 1}}
    (problem,) = planner(config).too_large()
    assert problem.startswith("Qwen/Qwen2.5-7B cannot be evaluated: it needs 36 GB")


def test_a_card_without_bfloat16_is_planned_in_float32_where_auto_comes_to_that():
    """A V100's float32 is an eighth of its peak in float16, and takes twice the memory."""
    model = "Qwen/Qwen2.5-3B"

    def own(gpu: str, dtype: str, precision: str = "auto"):
        recipes = {"published": {"precision": precision}}
        config = {"source": "huggingface", "compute": {"dtype": dtype, "device": "cuda"}}
        config |= {"harmony": {"models": [model], "recipes": recipes}}
        config |= {"chunking": {"checkpoints": []}, "prompts": {"models": []}}
        return planner(config | {"cluster": {"gpu": gpu}})

    def training(planner):
        return planner.training_before_test(model, ("gsm8k",))

    old, new = own("V100-32GB", "auto"), own("A100-40GB", "auto")
    for kind in ("evaluation", "training_before_test"):
        v100, a100 = (getattr(one, kind)(model, ("gsm8k",)) for one in (old, new))
        assert v100.gpu_mb > 1.5 * a100.gpu_mb
    assert training(old).seconds > 10 * training(new).seconds
    assert training(old).seconds == training(own("V100-32GB", "float32", "float32")).seconds
    assert training(new).seconds == training(own("A100-40GB", "bfloat16", "bfloat16")).seconds


def test_a_row_of_logits_in_training_is_weighed_as_it_is_computed():
    vocabulary = 152_064
    one, distilled = (
        trained_logit_bytes(1, vocabulary),
        trained_logit_bytes(1, vocabulary, distilled=True),
    )
    assert trained_logit_bytes(16_384, vocabulary) == 16_384 * one
    pieces = positions_at_once(vocabulary)
    assert trained_logit_bytes(16_384, vocabulary, distilled=True) == pieces * distilled < 1e9


def test_the_longest_row_that_fits_is_found():
    assert tokens_within(1_000, lambda tokens: 10 + 3 * tokens) == 330
    assert tokens_within(12, lambda tokens: 10 + 3 * tokens) == 0
