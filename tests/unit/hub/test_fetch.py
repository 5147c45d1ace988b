"""Fetching, by the real client, from a hub on this machine that fails on demand."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.processes import ROOT
from tests.unit.hub.conftest import point_client
from tests.unit.hub.fake_hub import Fault, model_files, safetensors
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


def test_fetch_model(hub, folder):
    """Safetensors and small files come, and neither code nor pickles nor second copies of weights."""
    refused = [f"pytorch_model{end}" for end in (".bin", ".bin.index.json", ".pt", ".pth", ".ckpt")]
    refused += ["modeling.py", "a.pkl", "b.msgpack", "c.h5", "LICENSE.py", "onnx/model.safetensors"]
    refused += ["consolidated.safetensors", "model.fp16.safetensors", "manifest.json"]
    taken = model_files() | {"LICENSE": b"yes", "model.safetensors.index.json": b"{}"}
    card = {"license": "apache-2.0"}
    [commit] = hub.add("model", MODEL, [taken | dict.fromkeys(refused, b"no")], card=card)
    manifest = fetch("model", MODEL, None, folder)
    del taken[".gitattributes"]
    assert manifest == read_manifest(folder / MANIFEST)
    assert (manifest.revision, manifest.commit) == (None, commit)
    assert (manifest.licence, manifest.architecture) == ("apache-2.0", "Qwen2ForCausalLM")
    assert manifest.parameters == 500_000
    assert hub.get_fetched() == [file.path for file in manifest.files] == sorted(taken)
    assert list_names(folder) == {*taken, MANIFEST}
    assert all((folder / name).read_bytes() == body for name, body in taken.items())


def test_fetch_dataset(hub, tmp_path):
    files = {
        "README.md": b"# MMLU",
        "all/test-00000-of-00001.parquet": b"PAR1 one",
        "all/auxiliary train[1].parquet": b"PAR1 two",
        "dev.jsonl.gz": b"three",
    }
    refused = ["mmlu.py", "data.tar", "x.pkl", ".hidden/a.json", "sub/manifest.json"]
    card = {"license": ["mit", "cc-by-4.0"]}
    hub.add("dataset", DATASET, [files | dict.fromkeys(refused, b"no")], card=card)
    manifest = fetch("dataset", DATASET, None, tmp_path)
    assert list_names(tmp_path) == {*files, MANIFEST}
    assert hub.get_fetched() == sorted(files)
    assert (manifest.licence, manifest.parameters) == ("mit, cc-by-4.0", None)
    assert verify(tmp_path, manifest) == []


def test_fetch_revisions_and_lock(hub, folder):
    """Each fetch leaves nothing of another commit, and a lock changes no byte of the manifest."""
    first = model_files(seed=1) | {"vocab.txt": b"", "additional_chat_templates/a.jinja": b""}
    tags = ["v1", "refs/convert/parquet"]
    old, new = hub.add("model", MODEL, [first, model_files(seed=2)], tags=tags)
    revisions = {"v1": old, old: old, "refs/convert/parquet": old, None: new}
    for revision, commit in revisions.items():
        manifest = fetch("model", MODEL, revision, folder)
        assert (manifest.revision, manifest.commit) == (revision, commit)
        assert list_names(folder) == {file.path for file in manifest.files} | {MANIFEST}
        assert verify(folder, manifest) == []
    unlocked = (folder / MANIFEST).read_bytes()
    fetch("model", MODEL, None, folder, commit=new)
    assert (folder / MANIFEST).read_bytes() == unlocked
    assert fetch("model", MODEL, None, folder, commit=old).commit == old
    with pytest.raises(UserError, match=f"pins {MODEL} to commit {new}, the lock to {old}"):
        fetch("model", MODEL, new, folder, commit=old)


@pytest.mark.parametrize(
    ("kind", "files", "words"),
    [
        ("model", {"config.json": b"{}", "pytorch_model.bin": b""}, "holds no safetensors weights"),
        ("model", {"adapter_model.safetensors": safetensors(8)}, "holds no config.json"),
        ("dataset", {"mmlu.py": b""}, "holds no data files.* refs/convert/parquet"),
        *(
            ("model", model_files() | {path: b"gotcha"}, "would be written outside its folder")
            for path in ("../x.json", "/etc/x.json", "a/../../x.json", "..\\x.json")
        ),
    ],
)
def test_fetch_refuses_repository(hub, folder, kind, files, words):
    hub.add(kind, MODEL, [files])
    with pytest.raises(UserError, match=words):
        fetch(kind, MODEL, None, folder)
    assert not folder.exists() and not hub.get_fetched()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_fetch_altered_file(hub, folder, name):
    """A bit that flips on the way is noticed, and one on the disk mended by the next fetch."""
    hub.add("model", MODEL, [model_files()])
    hub.faults.append(Fault(name, alter=lambda body: body[:-1] + b"?"))
    with pytest.raises(UserError, match=f"{name} of {MODEL} is not what the hub announced"):
        fetch("model", MODEL, None, folder)
    assert not {name, MANIFEST} & list_names(folder)
    manifest = fetch("model", MODEL, None, folder)
    for content in (model_files()[name], model_files()[name][:-1] + b"?"):
        (folder / name).write_bytes(content)
        is_altered = bool(verify(folder, manifest))
        hub.requests.clear()
        assert fetch("model", MODEL, None, folder) == manifest
        assert verify(folder, manifest) == []
        is_large = name.endswith(".safetensors")
        assert (name in hub.get_fetched()) == (is_altered or not is_large)


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
    step = start_step(hub, tmp_path, folder)
    assert (step.communicate()[0], step.returncode) == ("", 0)
    assert hub.get_fetched() == ["model.safetensors"]
    assert list_names(folder) == {*files, MANIFEST} - {".gitattributes"}
    assert verify(folder, read_manifest(folder / MANIFEST)) == []


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (Fault("tokenizer.json", status=502), Unreachable, "502"),
        (Fault("/api/", status=429), Unreachable, "429"),
        (Fault("/api/", status=200, body=b"<html>Log in"), UserError, "cannot be had from http"),
        (None, UserError, "Accept its licence there, and set HF_TOKEN"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_fetch_faults(hub, folder, monkeypatch, fault, error, words):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    hub.add("model", MODEL, [model_files()], gated=fault is None)
    hub.faults += [replace(fault, times=99)] if fault else []
    with pytest.raises(error, match=words):
        fetch("model", MODEL, None, folder)
    assert MANIFEST not in list_names(folder)


def test_fetch_absent_or_unreachable(hub, folder, monkeypatch):
    with pytest.raises(UserError, match=f"The model {MODEL} cannot be had .* Repository Not Found"):
        fetch("model", MODEL, None, folder)
    hub.add("model", MODEL, [model_files()])
    with pytest.raises(UserError, match="Revision Not Found"):
        fetch("model", MODEL, "v9", folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unreachable, match="HF_HUB_OFFLINE"):
        fetch("model", MODEL, None, folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    point_client(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(Unreachable):
        fetch("model", MODEL, None, folder)


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
    """Run the step of the rule in a process of its own, told by the environment alone."""
    params = {"kind": "model", "repository": MODEL, "revision": None, "lock": None}
    log = str(tmp_path / "logs/fetch_model.log")
    job = {"log": log, "params": params, "manifest": str(folder / MANIFEST)}
    names = ("PATH", "LD_LIBRARY_PATH")
    plain = {name: os.environ[name] for name in names if name in os.environ}
    plain |= {"HF_ENDPOINT": hub.url, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN_STEP, json.dumps(job)],
        cwd=ROOT,
        env=plain | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("gated", [False, True])
def test_fetch_token(hub, tmp_path, folder, gated):
    """The token goes to the hub and nowhere else; a refusal is a sentence in the log."""
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
