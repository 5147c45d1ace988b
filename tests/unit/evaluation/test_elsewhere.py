"""The harnesses' own command lines on a chunked checkpoint: item by item what we measure of it."""

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
from workflow_scripts.settings.checkpoint import Checkpoint

pytestmark = pytest.mark.slow  # it imports lighteval, which takes ten seconds

ROOT = Path(__file__).parents[3]
CHUNKED = ("-m", "workflow_scripts.chunked")
OURS_OF_ANATOMY = """
import sys
from pathlib import Path

from workflow_scripts.evaluation import mmlu
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.settings.compute import Compute

every = mmlu.subject_configs("installed")
mmlu.subject_configs = lambda _: [one for one in every if mmlu.get_subject(one.name) == "anatomy"]
compute = Compute(device="cpu", batch_size=4)
asked = MmluRequest(shots=5, prompt="installed", max_items_per_subject=4, seed=0, compute=compute)
mmlu.evaluate_mmlu(*map(Path, sys.argv[1:]), asked)
"""


@pytest.fixture(scope="module")
def chunked(chunkable, tmp_path_factory):
    """The folder of a checkpoint that cannot be loaded without this package."""
    folder = tmp_path_factory.mktemp("elsewhere") / "chunked"
    keys = Checkpoint(
        model="miniature/Qwen2-0.2M", num_chunks=2, num_layers_per_chunk=1, use_adapters=False
    )
    asked = BuildRequest(id="miniature/Qwen2-0.2M@k2m1-noadapters", checkpoint=keys, seed=0)
    build_chunked(chunkable, folder, asked)
    return folder


def run(words: list[str], here: Path) -> str:
    """What another program says, in a folder where no network and no cache is."""
    home = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(here / "cache"), "HOME": str(here)}
    said = subprocess.run(
        [sys.executable, *words],
        cwd=here,
        env=os.environ | home | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout + said.stderr


def test_lightevals_own_command_line_has_our_answers_of_a_chunked_checkpoint(
    world, chunked, tmp_path
):
    """As docs/chunking.md has it: without the modules of tasks that stop lighteval alone, which it names."""
    record_path = tmp_path / "ours.json"
    manifest = str(chunked / "manifest.json")
    run(["-c", OURS_OF_ANATOMY, manifest, str(world), str(record_path)], tmp_path)
    for one in (world / "datasets").iterdir():
        (tmp_path / one.name).symlink_to(one)
    model = f"model_name={chunked},dtype=float32,override_chat_template=False"
    words = ["lighteval", "accelerate", model, "mmlu:anatomy|5"]
    words += ["--output-dir", "theirs", "--save-details", "--max-samples", "4"]
    assert "lighteval's tasks of mt_bench are left out (TypeError" in run(
        [*CHUNKED, *words], tmp_path
    )
    ((_, items),) = read_folder(tmp_path / "theirs", {}, {})
    ours = read_items(record_path.with_suffix(".parquet")).to_pylist()
    theirs = {item.item: (item.text, item.gold, item.correct) for item in items}
    assert theirs == {item["item"]: (item["text"], item["gold"], item["correct"]) for item in ours}
    assert len(ours) == 4


def test_lm_evals_own_command_line_has_our_numbers_of_a_chunked_checkpoint(
    world, chunked, tmp_path
):
    record_path = tmp_path / "ours.json"
    evaluate_direct(chunked / "manifest.json", world, record_path, cell("rte", "acc"))
    ours = read_record(record_path)
    items = read_items(record_path.with_suffix(".parquet")).to_pylist()
    (lm_eval,) = find_spec("lm_eval").submodule_search_locations
    task = tmp_path / "tasks/rte_here.yaml"
    task.parent.mkdir()
    task.write_text(
        f"include: {lm_eval}/tasks/glue/rte/default.yaml\ntask: rte_here\n"
        f"dataset_path: {world}/datasets/nyu-mll/glue\n"
    )
    words = f"lm_eval run --model hf --model_args pretrained={chunked},dtype=float32 --device cpu --batch_size 4"
    words += f" --tasks rte_here --include_path {task.parent} --log_samples --output_path out"
    run([*CHUNKED, *words.split()], tmp_path)
    ((cell_there, theirs),) = read_folder(tmp_path / "out", {}, {})
    assert cell_there.scores[0].value == pytest.approx(ours.metrics[0].value)
    assert len(theirs) == len(items) > 0
    for one, own in zip(theirs, items, strict=True):
        assert one.loglikelihoods == pytest.approx(own["loglikelihoods"], abs=1e-4)
        assert (one.gold, one.correct) == (own["gold"], own["correct"])
