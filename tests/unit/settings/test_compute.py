"""Whether jobs have GPUs: one answer for what they ask for, how long they are planned and what is checked."""

import pytest

from tests.unit.settings.merged import load


@pytest.mark.parametrize(
    ("source", "device", "program", "on_gpus"),
    [
        ("huggingface", "cuda", "bash", True),
        ("huggingface", "cpu", "nvidia-smi", False),
        ("huggingface", "auto", "nvidia-smi", True),
        ("huggingface", "auto", "sbatch", True),  # a login node
        ("huggingface", "auto", "bash", False),  # a laptop
        ("miniature", "cuda", "nvidia-smi", False),
    ],
)
def test_jobs_have_gpus_where_the_config_or_the_machine_says_so(
    source, device, program, on_gpus, monkeypatch, tmp_path
):
    (tmp_path / program).touch(mode=0o755)
    settings = load({"compute": {"device": device}}).model_copy(update={"source": source})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert settings.on_gpus == on_gpus
