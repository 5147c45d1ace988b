"""Whether jobs have GPUs: one answer for what they ask for, how long they are planned and what is checked."""

import pytest

from tests.unit.settings.merged import ROOT, load
from workflow_scripts.studies.suite.submissions import check_requests

NOTHING_ELSE = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}
HUB = {"source": "huggingface", "harmony": {"models": ["EleutherAI/pythia-70m-deduped"]}}
FIRST = {"requests": str(ROOT / "config/first/requests")}


@pytest.mark.parametrize(
    ("source", "device", "found", "on_gpus"),
    [
        ("huggingface", "cuda", None, True),
        ("huggingface", "cpu", "nvidia-smi", False),
        ("huggingface", "auto", "nvidia-smi", True),
        ("huggingface", "auto", "sbatch", True),  # a login node
        ("huggingface", "auto", None, False),  # a laptop
        ("miniature", "cuda", "nvidia-smi", False),
    ],
)
def test_jobs_have_gpus_where_the_config_or_the_machine_says_so(
    source, device, found, on_gpus, monkeypatch, tmp_path
):
    if found:
        (tmp_path / found).touch(mode=0o755)
    override = {"compute": {"device": device}}
    if source == "huggingface":
        override |= NOTHING_ELSE | HUB | {"suite": FIRST}
    settings = load(override)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert settings.on_gpus == on_gpus
    asked = check_requests(
        settings, generated=(), source=lambda *_: "", manifest=lambda checkpoint: ""
    )
    assert asked["rules"]["on_gpu"] == on_gpus
