"""flash-attn on a GPU that is pretended: which attention runs where, near the exact numbers; and what is refused."""

import shutil

import pytest
import yaml

from tests.pretended_gpu import found_by
from tests.unit.evaluation.drawn import fresh_seed
from tests.unit.settings.merged import ROOT, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.evaluation.requests import stage_perplexity_request
from workflow_scripts.hub.load import load_model

KINDS = ("llama", "gpt_neox", "gemma2", "some_windowed", "fused")
FLASH = "flash_attention_2"


@pytest.fixture(scope="module")
def found(pretended_gpu, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    package, facts = folder / "flash_attn", folder / "flash_attn-2.8.3.dist-info"
    for one in (package, facts):
        one.mkdir()
    shutil.copy(ROOT / "tests/pretended_gpu/flash_kernels.py", package / "__init__.py")
    (package / "bert_padding.py").write_text(
        "from transformers.modeling_flash_attention_utils import _pad_input as pad_input\n"
        "from transformers.modeling_flash_attention_utils import _unpad_input as unpad_input\n"
    )
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\n")
    (facts / "top_level.txt").write_text("flash_attn\n")
    paths = f"{pretended_gpu['PYTHONPATH']}:{folder}"
    return found_by(
        "flash", str(fresh_seed()), *KINDS, environment=pretended_gpu | {"PYTHONPATH": paths}
    )


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("kind", KINDS)
def test_flash_attention_runs(kind, found):
    """In training, perplexity and plain batches; what shares prompts keeps PyTorch's own."""
    of_kind = found[kind]
    given = {"attn_implementation": FLASH, "dtype": "torch.bfloat16"}
    assert of_kind["passed"] == of_kind["training"]["passed"] == given
    assert of_kind["loaded"] == of_kind["left"] == FLASH
    assert of_kind["engine"] == "prefix sharing"
    assert of_kind["engine_attention"] == (
        f"{'eager' if kind == 'gemma2' else 'sdpa'}, {FLASH} in plain batches"
    )
    assert of_kind["plain"]["calls"] and of_kind["perplexity"]["calls"]
    for name in ("plain", "shared", "perplexity"):
        assert of_kind[name]["apart"] < 3 * max(of_kind[name]["rounding"], 0.05), name
    training = of_kind["training"]
    assert training["ran"]["attention"] == FLASH and training["ran"]["packing"] == "flash"
    assert training["calls"]["flash_attn_varlen_func"] >= 6, "in each of the steps"
    assert training["apart"] < 0.1


@pytest.mark.parametrize(
    ("compute", "precision", "expected"),
    [
        (
            {"device": "cuda", "attention": "published", "dtype": "float32"},
            "auto",
            (FLASH, "published"),
        ),  # the exact config's
        ({"device": "cuda", "attention": "published"}, "float32", ("published", FLASH)),
        ({"attention": "published", "device": "cpu"}, "auto", ("published", "published")),
        ({"attention": "auto"}, "auto", ("auto", "auto")),
        ({"attention": FLASH}, "auto", (FLASH, FLASH)),
    ],
)
def test_published_attention_of_chunked_models(compute, precision, expected):
    """That of a stage of training, and of the perplexity beside it; models that are not chunked keep their own."""
    recipes = {"miniature-cpt": {"precision": precision}}
    settings = load({"compute": compute, "training": {"recipes": recipes}})
    checkpoint = settings.trained_checkpoints()[0]
    tuned = CheckpointId(checkpoint.model, stages=("tuned",))
    perplexity = stage_perplexity_request(settings).compute.attention
    assert (settings.stage_attention(checkpoint), perplexity) == expected
    assert settings.stage_attention(tuned) == compute["attention"]


def test_chunk_plans_of_the_paper_under_the_exact_config():
    exact, paper = (
        yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
        for name in ("paper_exact", "paper")
    )
    exact["chunking"] = {"checkpoints": paper["chunking"]["checkpoints"][:2]}
    settings = load(exact)
    trained = settings.trained_checkpoints()
    assert [settings.stage_attention(one) for one in trained] == [FLASH] * 4


@pytest.mark.slow
@pytest.mark.compiler
def test_flash_attention_in_other_formats(found):
    others = found["others"]
    refused = others.pop("refused")
    assert others == {"float16": FLASH, "auto": FLASH, "float32": "sdpa", "sdpa": "sdpa"}
    assert "Pretended GPU" in refused and "compute capability 8.0 or more" in refused


def test_flash_attention_missing(model_manifest, monkeypatch):
    monkeypatch.setattr("workflow_scripts.hub.load.choose_device", lambda wanted: wanted)
    for device, said in (("cpu", "this job has no GPU"), ("cuda", "No module named 'flash_attn'")):
        with pytest.raises(UserError, match=said):
            load_model(model_manifest, device=device, dtype="bfloat16", attention=FLASH)
