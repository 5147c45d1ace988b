"""Fetching, by the real client, from a hub on this machine that fails on demand."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.processes import ROOT
from tests.unit.hub.conftest import point_client
from tests.unit.hub.fake_hub import Fault, model_files
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.fetch import fetch
from workflow_scripts.hub.manifest import MANIFEST, read_manifest, verify

MODEL, DATASET = "Qwen/Qwen2.5-0.5B", "cais/mmlu"
TOKEN = "hf_plantedTokenThatMustNotBeWritten"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "hub" / "models" / MODEL


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("kind", "wanted", "refused"),
    [
        (
            "model",
            model_files() | {"LICENSE": b"yes", "model.safetensors.index.json": b"{}"},
            "pytorch_model.bin pytorch_model.bin.index.json modeling.py a.pkl c.h5 LICENSE.py"
            " onnx/model.safetensors consolidated.safetensors model.fp16.safetensors manifest.json",
        ),
        (
            "dataset",
            {"README.md": b"", "all/train[1].parquet": b"PAR1", "dev.jsonl.gz": b"three"},
            "mmlu.py data.tar x.pkl .hidden/a.json sub/manifest.json",
        ),
    ],
)
def test_fetch(hub, folder, kind, wanted, refused):
    """Safetensors, data and small files come, and neither code nor pickles nor second copies of weights."""
    files = wanted | dict.fromkeys(refused.split(), b"no")
    [commit] = hub.add(kind, MODEL, [files], card={"license": ["mit", "apache-2.0"]})
    manifest = fetch(kind, MODEL, None, folder)
    wanted = {name: body for name, body in wanted.items() if name != ".gitattributes"}
    assert manifest == read_manifest(folder / MANIFEST) and verify(folder, manifest) == []
    assert (manifest.revision, manifest.commit) == (None, commit)
    assert manifest.licence == "mit, apache-2.0"
    expected = (500_000, "Qwen2ForCausalLM") if kind == "model" else (None, None)
    assert (manifest.parameters, manifest.architecture) == expected
    assert hub.get_fetched() == [file.path for file in manifest.files] == sorted(wanted)
    assert list_names(folder) == {*wanted, MANIFEST}
    assert all((folder / name).read_bytes() == body for name, body in wanted.items())


def test_fetch_revisions_and_lock(hub, folder):
    """Each fetch leaves nothing of another commit, and a lock changes no byte of the manifest."""
    first = model_files(seed=1) | {"vocab.txt": b"", "additional_chat_templates/a.jinja": b""}
    tags = ["v1", "refs/convert/parquet"]
    old, new = hub.add("model", MODEL, [first, model_files(seed=2)], tags=tags)
    for revision, commit in {"v1": old, old: old, "refs/convert/parquet": old, None: new}.items():
        manifest = fetch("model", MODEL, revision, folder)
        assert (manifest.revision, manifest.commit) == (revision, commit)
        assert list_names(folder) == {file.path for file in manifest.files} | {MANIFEST}
    unlocked = (folder / MANIFEST).read_bytes()
    fetch("model", MODEL, None, folder, commit=new)
    assert (folder / MANIFEST).read_bytes() == unlocked
    assert fetch("model", MODEL, None, folder, commit=old).commit == old
    with pytest.raises(UserError, match="pins"):
        fetch("model", MODEL, new, folder, commit=old)


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("model", {"config.json": b"{}", "pytorch_model.bin": b""}),
        ("model", {"adapter_model.safetensors": b""}),
        ("dataset", {"mmlu.py": b""}),
        ("model", model_files() | {"a/../../x.json": b"gotcha"}),
        ("model", model_files() | {"/etc/x.json": b"gotcha"}),
    ],
)
def test_fetch_refuses_repository(hub, folder, kind, files):
    hub.add(kind, MODEL, [files])
    with pytest.raises(UserError):
        fetch(kind, MODEL, None, folder)
    assert not folder.exists() and not hub.get_fetched()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_fetch_altered_file(hub, folder, name):
    """A bit that flips on the way is noticed, and one on the disk mended by the next fetch."""
    hub.add("model", MODEL, [model_files()])
    hub.faults.append(Fault(name, alter=lambda body: body[:-1] + b"?"))
    with pytest.raises(UserError, match=name):
        fetch("model", MODEL, None, folder)
    assert not {name, MANIFEST} & list_names(folder)
    manifest = fetch("model", MODEL, None, folder)
    (folder / name).write_bytes(model_files()[name][:-1] + b"?")
    assert verify(folder, manifest)
    hub.requests.clear()
    assert fetch("model", MODEL, None, folder) == manifest
    assert verify(folder, manifest) == [] and name in hub.get_fetched()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("tokenizer.json", times=99, status=502), Unreachable),
        (Fault("/api/", times=99, status=429), Unreachable),
        (Fault("/api/", times=99, status=200, body=b"<html>Log in"), UserError),
        ("gated", UserError),
        ("absent", UserError),
        ("no such revision", UserError),
        ("offline", Unreachable),
        ("no answer", Unreachable),
    ],
    ids=lambda value: str(value)[:30],
)
def test_fetch_faults(hub, folder, monkeypatch, fault, error):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    if fault != "absent":
        hub.add("model", MODEL, [model_files()], gated=fault == "gated")
    if isinstance(fault, Fault):
        hub.faults.append(fault)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", fault == "offline")
    if fault == "no answer":
        point_client(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(UserError) as raised:
        fetch("model", MODEL, "v9" if fault == "no such revision" else None, folder)
    assert type(raised.value) is error
    assert not (folder / MANIFEST).exists()


RUN_STEP = """
import json, runpy, sys
from types import SimpleNamespace
job = json.loads(sys.argv[1])
snakemake = SimpleNamespace(
    rule="fetch_model", threads=1, log=[job["log"]], input={}, wildcards={},
    output={"manifest": job["manifest"]}, params=job["params"],
)
runpy.run_path("workflow_scripts/steps/fetch.py", init_globals={"snakemake": snakemake})
"""


def start_step(hub, tmp_path: Path, folder: Path, **environment) -> subprocess.Popen:
    """Run the step of the rule in a process of its own, configured by the environment alone."""
    params = {"kind": "model", "repository": MODEL, "revision": None, "lock": None}
    log = str(tmp_path / "logs/fetch_model.log")
    job = {"log": log, "params": params, "manifest": str(folder / MANIFEST)}
    plain = {name: os.environ.get(name, "") for name in ("PATH", "LD_LIBRARY_PATH")}
    plain |= {"HF_ENDPOINT": hub.url, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN_STEP, json.dumps(job)],
        cwd=ROOT,
        env=plain | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_fetch_killed(hub, tmp_path, folder):
    """The next run fetches the files that are missing."""
    files = model_files(3_000_000)
    hub.add("model", MODEL, [files])
    hub.faults.append(Fault("model.safetensors", stall_after=2_000_000))
    step = start_step(hub, tmp_path, folder)
    small = {*files} - {".gitattributes", "model.safetensors"}
    while not hub.count_sent() or small - list_names(folder):
        assert step.poll() is None, (tmp_path / "logs/fetch_model.log").read_text()
        time.sleep(0.05)
    time.sleep(0.5)  # the client notes each file after it has its name
    step.send_signal(signal.SIGKILL)
    step.communicate()
    assert not {MANIFEST, "model.safetensors"} & list_names(folder)
    hub.requests.clear()
    fetch("model", MODEL, None, folder)
    assert hub.get_fetched() == ["model.safetensors"]
    assert list_names(folder) == {*files, MANIFEST} - {".gitattributes"}


@pytest.mark.parametrize("gated", [False, True])
def test_fetch_token(hub, tmp_path, folder, gated):
    """The token goes to the hub and not to the host that it redirects to; a refusal is a sentence in the log."""
    hub.add("model", MODEL, [model_files()], gated=gated)
    # HF_DEBUG makes the client log every request with its headers.
    step = start_step(hub, tmp_path, folder, HF_TOKEN=TOKEN, HF_DEBUG="1")
    output = step.communicate()[0]
    assert (step.returncode == 1) == gated
    tokens = {(r.server, r.authorization) for r in hub.requests if MODEL in r.path}
    assert tokens - {("cdn", None)} == {("hub", f"Bearer {TOKEN}")}
    log = (tmp_path / "logs/fetch_model.log").read_text()
    assert ("Accept its licence" in log) == gated
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in output
