"""lighteval's own command line on a chunked checkpoint: the answers of Chorus, item by item."""

import pytest

from tests.processes import ROOT, python
from workflow_scripts.core.items import read_items
from workflow_scripts.hub.chunk import build_chunked
from workflow_scripts.hub.requests import BuildRequest
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.settings.checkpoint import Checkpoint

pytestmark = pytest.mark.slow  # it imports lighteval, which takes ten seconds

EVALUATE_ANATOMY = """
import sys
from pathlib import Path

from workflow_scripts.evaluation import mmlu
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.settings.compute import Compute

configs = mmlu.list_subject_configs("installed")
mmlu.list_subject_configs = lambda _: [config for config in configs if mmlu.get_subject(config.name) == "anatomy"]
compute = Compute(device="cpu", dtype="float32", batch_size=4)
mmlu_request = MmluRequest(shots=5, prompt="installed", max_items_per_subject=4, seed=0, compute=compute)
mmlu.evaluate_mmlu(*map(Path, sys.argv[1:]), mmlu_request)
"""
LIGHTEVAL_CLI = """
import os, runpy, sys
os.chdir(sys.argv.pop(1))
sys.argv.insert(1, "lighteval")
runpy.run_module("workflow_scripts.chunked", run_name="__main__")
"""


def test_lighteval_cli_chunked_checkpoint(world, chunkable, tmp_path):
    """Compare by the command of docs/chunking.md, which skips and names the task modules that stop lighteval."""
    model = "miniature/Qwen2-0.2M"
    keys = Checkpoint(model=model, num_chunks=2, num_layers_per_chunk=1, use_adapters=False)
    request = BuildRequest(id=f"{model}@k2m1-noadapters", checkpoint=keys, seed=0)
    build_chunked(chunkable, tmp_path / "chunked", request)
    home = {"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    record_path = tmp_path / "ours.json"
    python(EVALUATE_ANATOMY, tmp_path / "chunked/manifest.json", world, record_path, **home)
    for folder in (world / "datasets").iterdir():
        (tmp_path / folder.name).symlink_to(folder)
    options = f"model_name={tmp_path}/chunked,dtype=float32,override_chat_template=False"
    words = ["accelerate", options, "mmlu:anatomy|5", "--max-samples", "4"]
    words += ["--output-dir", "theirs", "--save-details"]
    python(LIGHTEVAL_CLI, tmp_path, *words, **home)
    ((_, items),) = read_folder(tmp_path / "theirs", {}, {})
    own = read_items(record_path.with_suffix(".parquet")).to_pylist()
    reference = {item.item: (item.text, item.gold) for item in items}
    assert reference == {item["item"]: (item["text"], item["gold"]) for item in own}
    assert len(own) == 4
