"""lm-eval's own command line on a chunked checkpoint: item by item what we measure of it."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cells import cell
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.hub.chunk import build_chunked
from workflow_scripts.hub.requests import BuildRequest
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.scores.foreign.requests import ImportRequest
from workflow_scripts.settings.checkpoint import Checkpoint

ROOT = Path(__file__).parents[3]


def test_lm_evals_own_command_line_has_our_numbers_of_a_chunked_checkpoint(
    world, chunkable, tmp_path
):
    folder, record_path = tmp_path / "chunked", tmp_path / "ours.json"
    keys = Checkpoint(
        model="miniature/Qwen2-0.2M", num_chunks=2, num_layers_per_chunk=1, use_adapters=False
    )
    build_chunked(
        chunkable,
        folder,
        BuildRequest(id="miniature/Qwen2-0.2M@k2m1-noadapters", checkpoint=keys, seed=0),
    )
    evaluate_direct(folder / "manifest.json", world, record_path, cell("rte", "acc"))
    ours, items = (
        read_record(record_path),
        read_items(record_path.with_suffix(".parquet")).to_pylist(),
    )
    (lm_eval,) = find_spec("lm_eval").submodule_search_locations
    task = tmp_path / "tasks/rte_here.yaml"
    task.parent.mkdir()
    task.write_text(
        f"include: {lm_eval}/tasks/glue/rte/default.yaml\ntask: rte_here\n"
        f"dataset_path: {world}/datasets/nyu-mll/glue\n"
    )
    words = f"lm_eval run --model hf --model_args pretrained={folder},dtype=float32 --device cpu --batch_size 4"
    words += (
        f" --tasks rte_here --include_path {task.parent} --log_samples --output_path {tmp_path}/out"
    )
    said = subprocess.run(
        [sys.executable, "-m", "workflow_scripts.chunked", *words.split()],
        cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    fields = {
        "name": "theirs",
        "folder": str(tmp_path / "out"),
        "stamp": "",
        "names": {},
        "tasks": {},
    }
    (theirs,) = read_folder(tmp_path / "out", ImportRequest.of(fields))
    assert theirs.scores["acc"].value == pytest.approx(ours.metrics[0].value)
    assert len(theirs.items) == len(items) > 0
    for one, own in zip(theirs.items, items, strict=True):
        assert one.loglikelihoods == pytest.approx(own["loglikelihoods"], abs=1e-4)
        assert (one.gold, one.correct) == (own["gold"], own["correct"])
