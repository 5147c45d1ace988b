"""Which attention runs where, and flash-attn refused where it cannot run."""

import pytest
import yaml

from tests.unit.settings.merged import ROOT, load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.evaluation.requests import stage_perplexity_request
from workflow_scripts.hub.load import load_model

FLASH = "flash_attention_2"


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


def test_flash_attention_missing(model_manifest, monkeypatch):
    monkeypatch.setattr("workflow_scripts.hub.load.choose_device", lambda wanted: wanted)
    for device, said in (("cpu", "this job has no GPU"), ("cuda", "No module named 'flash_attn'")):
        with pytest.raises(UserError, match=said):
            load_model(model_manifest, device=device, dtype="bfloat16", attention=FLASH)
