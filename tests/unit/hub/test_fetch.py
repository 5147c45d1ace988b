"""Test fetching with the real client from a fake hub with injected faults."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.unit.hub.fake_hub import model_files
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.fetch import fetch
from workflow_scripts.hub.manifest import MANIFEST, describe_damage, read_manifest

MODEL = "Qwen/Qwen2.5-0.5B"
TOKEN = "hf_plantedTokenThatMustNotBeWritten"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "hub" / "models" / MODEL


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (
            "model",
            model_files() | {"LICENSE": b"yes", "model.safetensors.index.json": b"{}"},
            "pytorch_model.bin pytorch_model.bin.index.json modeling.py a.pkl c.h5 LICENSE.py"
            " onnx/model.safetensors consolidated.safetensors model.fp16.safetensors manifest.json a/../../x.json",
        ),
        (
            "dataset",
            {"README.md": b"# MMLU", "all/train[1].parquet": b"PAR1", "dev.jsonl.gz": b"three"},
            "mmlu.py data.tar x.pkl .hidden/a.json sub/manifest.json a/../../x.json",
        ),
    ],
)
def test_fetch(hub, folder, kind, accepted, refused):
    """Safetensors, data and small files are fetched; code, pickles and second copies of weights are not."""
    files = accepted | dict.fromkeys(refused.split(), b"no")
    [commit] = hub.add(kind, MODEL, [files], card={"license": ["mit", "apache-2.0"]})
    manifest = fetch(kind, MODEL, None, folder)
    accepted = {name: body for name, body in accepted.items() if name != ".gitattributes"}
    assert manifest == read_manifest(folder / MANIFEST) and describe_damage(folder, manifest) == []
    assert (manifest.revision, manifest.commit) == (None, commit)
    assert manifest.licence == "mit, apache-2.0"
    expected = (500_000, "Qwen2ForCausalLM") if kind == "model" else (None, None)
    assert (manifest.parameters, manifest.architecture) == expected
    assert hub.get_fetched() == [file.path for file in manifest.files] == sorted(accepted)
    assert list_names(folder) == {*accepted, MANIFEST}
    assert all((folder / name).read_bytes() == body for name, body in accepted.items())


def test_fetch_revisions_and_lock(hub, folder):
    """A fetch removes the files of another commit, and a lock does not change the manifest."""
    first = model_files(seed=1) | {"vocab.txt": b"", "additional_chat_templates/a.jinja": b""}
    old, new = hub.add("model", MODEL, [first, model_files(seed=2)])
    for revision, commit in {old: old, None: new}.items():
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
        ("dataset", {"mmlu.py": b""}),
        ("dataset", {"/etc/x.json": b"gotcha"}),
    ],
)
def test_fetch_refuses_repository(hub, folder, kind, files):
    hub.add(kind, MODEL, [files])
    with pytest.raises(UserError):
        fetch(kind, MODEL, None, folder)
    assert MANIFEST not in list_names(folder) and not hub.get_fetched()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_fetch_altered_file(hub, folder, name):
    """Corruption during download is detected, and corruption on disk is repaired by the next fetch."""
    hub.add("model", MODEL, [model_files()])
    hub.altered[name] = 1
    with pytest.raises(UserError, match=name):
        fetch("model", MODEL, None, folder)
    assert not {name, MANIFEST} & list_names(folder)
    manifest = fetch("model", MODEL, None, folder)
    (folder / name).write_bytes(model_files()[name][:-1] + b"?")
    assert describe_damage(folder, manifest)
    hub.requests.clear()
    assert fetch("model", MODEL, None, folder) == manifest
    assert describe_damage(folder, manifest) == [] and name in hub.get_fetched()


RUN_STEP = """
import runpy, sys
from types import SimpleNamespace
log, manifest, repository = sys.argv[1:]
params = {"kind": "model", "repository": repository, "revision": None, "lock": None}
snakemake = SimpleNamespace(
    rule="fetch", threads=1, log=[log], input={}, wildcards={}, resources={},
    output={"manifest": manifest}, params=params,
)
runpy.run_path("workflow_scripts/hub/fetch.py", init_globals={"snakemake": snakemake})
"""


def test_fetch_token(hub, tmp_path, folder):
    """The token is sent to the hub but not to the redirect host, and written nowhere."""
    hub.add("model", MODEL, [model_files()])
    log = tmp_path / "logs/fetch.log"
    # HF_DEBUG makes the client log every request with its headers.
    tokens = {"HF_TOKEN": TOKEN, "HF_DEBUG": "1", "HOME": str(tmp_path / "home")}
    step = subprocess.run(
        [sys.executable, "-c", RUN_STEP, log, folder / MANIFEST, MODEL],
        cwd=ROOT,
        env={**os.environ, "HF_ENDPOINT": hub.url, "PYTHONPATH": str(ROOT), **tokens},
        capture_output=True,
        text=True,
    )
    assert step.returncode == 0
    sent = {(r.server, r.authorization) for r in hub.requests if MODEL in r.path}
    assert sent == {("cdn", None), ("hub", f"Bearer {TOKEN}")}
    written = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in (*written, step.stdout, step.stderr) if TOKEN in text]
