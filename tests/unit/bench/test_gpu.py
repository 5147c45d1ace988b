"""`make bench-gpu` in its small form: all of it runs."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from bench import gpu, gpu_chunks, gpu_correctness, gpu_training, training
from bench.gpu_setting import Setting, Table
from tests.tiny_models import tiny_model
from tests.unit.settings.merged import ROOT

SMALL = Setting("cpu", small=True)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "gpu.md"
    gpu.main(list(gpu.PARTS), SMALL, path)
    return SimpleNamespace(
        text=path.read_text(encoding="utf-8"),
        path=path.with_suffix(".json"),
        parts=json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["parts"],
    )


def rows(table):
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_the_report_names_the_device_and_says_that_it_is_the_small_form(report):
    assert report.text.startswith("# GPU benchmark: cpu\n")
    assert "small form: tiny shapes" in report.text
    assert "Not measured" not in report.text
    for title in ("Correctness", "Log-likelihoods", "Generation", "LoRA training"):
        assert f"\n## {title}\n" in report.text


def test_the_engine_agrees_with_the_harness_and_with_generate(report):
    (correct,) = report.parts["correctness"]
    assert [row["right"] for row in rows(correct)] == ["yes"] * len(correct["rows"])
    scored, generated = report.parts["evaluation"]
    assert all(row["differ"] < 1e-4 and row["ratio"] > 0 for row in rows(scored))
    assert all(row["same"] == 1 for row in rows(generated))  # float32


def test_training_counts_what_a_step_launches_and_leaves_no_tensor_behind(report):
    speed, memory = report.parts["training"]
    # Two layers, at least 38 operators each forward.
    assert all(row["kernels"] > 2 * 38 for row in rows(speed))
    assert all(row["collected, MB"] == 0 for row in rows(memory))


def test_trainings_share_their_steps(report):
    (shared,) = report.parts["together"]
    (row,) = rows(shared)
    assert row["shape"] == "tiny"
    assert row["set-up together s"] > 0 and row["set-up apart s"] > 0


def test_models_are_rounded_as_loading_rounds_them():
    base = tiny_model("qwen2")
    found = gpu_correctness.as_loaded(base, "cpu", torch.bfloat16)
    assert {parameter.dtype for parameter in found.parameters()} == {torch.bfloat16}
    assert torch.equal(found.model.rotary_emb.inv_freq, base.model.rotary_emb.inv_freq)
    assert base.dtype == torch.float32


def test_where_the_other_trainer_has_no_room_ours_is_measured(monkeypatch):
    """And over the weights that are there, as in a job."""
    places = set()

    def no_room(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    def own(model, case, clock, device):
        with monkeypatch.context() as patch:
            patch.setattr(
                training,
                "train",
                lambda load, *_, **__: (
                    places.update(addresses(load("float32")))
                    or SimpleNamespace(history=[{"loss": 0.0}])
                ),
            )
            training.ours(model, case, clock, device)
        places.difference_update(addresses(model))
        clock.seconds = 1.0

    monkeypatch.setattr(gpu_training, "find_spec", lambda name: True)
    monkeypatch.setattr(gpu_training, "theirs", no_room)
    monkeypatch.setattr(gpu_training, "ours", own)
    speed, _ = gpu_training.run(SMALL)
    assert len(speed.rows) == 2
    for _, theirs, ours, ratio, *_ in speed.rows:
        assert theirs is ratio is None and ours > 0
    assert not places, "a second copy of the weights"


def addresses(model) -> set[int]:
    return {parameter.data_ptr() for parameter in model.parameters()}


def test_a_part_that_fails_is_named_and_leaves_the_others(monkeypatch, tmp_path):
    def broken(setting):
        raise RuntimeError("CUDA error: device-side assert triggered")

    made = Table("LoRA training", "", ("what", "value"), [("a", 1.5)])
    parts = {"bench.gpu_chunks": SimpleNamespace(run=broken)}
    parts["bench.gpu_training"] = SimpleNamespace(run=lambda setting: [made])
    monkeypatch.setattr(gpu.importlib, "import_module", parts.__getitem__)
    with pytest.raises(SystemExit, match="chunks"):
        gpu.main(["chunks", "training"], SMALL, tmp_path / "gpu.md")
    text = (tmp_path / "gpu.md").read_text()
    assert "Not measured: RuntimeError: CUDA error: device-side assert triggered" in text
    assert "| a | 1.5 |" in text


def test_a_wrong_result_is_no_success(monkeypatch, tmp_path):
    table = Table("Correctness", "", ("architecture", "right"), [("Gemma 2", "NO")])
    part = SimpleNamespace(run=lambda setting: [table])
    monkeypatch.setattr(gpu.importlib, "import_module", lambda name: part)
    with pytest.raises(SystemExit, match="Gemma 2"):
        gpu.main(["correctness"], SMALL, tmp_path / "gpu.md")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluatoin"], "there is no part 'evaluatoin'; expected some of correctness"),
        ([], "PyTorch sees no GPU here; --small runs all parts"),
    ],
)
def test_what_cannot_run_is_a_sentence(arguments, said):
    run = subprocess.run(
        [sys.executable, "-m", "bench.gpu", *arguments],
        cwd=ROOT,
        env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert said in run.stderr


def test_a_graph_that_cannot_be_recorded_leaves_the_stream_that_was_there(monkeypatch):
    streams = ["the caller's"]

    def broken(step):
        streams.append("recording")
        raise RuntimeError("operation not permitted when stream is capturing\nand more")

    monkeypatch.setattr(gpu_chunks, "_graph", broken)
    monkeypatch.setattr(gpu_chunks.torch.cuda, "current_stream", lambda: streams[-1])
    monkeypatch.setattr(gpu_chunks.torch.cuda, "set_stream", streams.append)
    found = gpu_chunks._in_graph(lambda: None, Setting("cuda", small=True))
    assert found == (None, "operation not permitted when stream is capturing")
    assert streams[-1] == "the caller's"
