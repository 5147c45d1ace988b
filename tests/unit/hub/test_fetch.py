"""Fetching, by the real client, from a hub on this machine that fails in every way it can."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants

from tests.processes import ROOT
from tests.unit.hub.fake_hub import Fault, model_files, safetensors
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub import fetch as fetch_module
from workflow_scripts.hub.fetch import fetch
from workflow_scripts.hub.manifest import MANIFEST, read_manifest, verify

MODEL, DATASET = "Qwen/Qwen2.5-0.5B", "cais/mmlu"
TOKEN = "hf_plantedTokenThatMustNotBeWritten"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "hub" / "models" / MODEL


@pytest.fixture
def files(hub):
    """Those of the model that the hub has."""
    hub.add("model", MODEL, [model_files()])
    return model_files()


def visible(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if not str(path).startswith(".")}


def is_clean_failure(folder: Path, files: dict[str, bytes]) -> bool:
    """No manifest, and nothing under its own name but what is whole and right."""
    return all((folder / name).read_bytes() == files.get(name) for name in visible(folder))


# ---- the whole path ----


def test_a_model_is_fetched_with_its_manifest(hub, folder):
    files = model_files()
    [commit] = hub.add("model", MODEL, [files], card={"license": "apache-2.0"})
    manifest = fetch("model", MODEL, None, folder)
    assert manifest == read_manifest(folder / MANIFEST)
    assert (manifest.revision, manifest.commit) == (None, commit)
    assert manifest.licence == "apache-2.0"
    assert manifest.architecture == "Qwen2ForCausalLM"
    assert manifest.parameters == 500_000
    assert [file.path for file in manifest.files] == sorted(files.keys() - {".gitattributes"})
    assert verify(folder, manifest) == []
    assert all((folder / f.path).read_bytes() == files[f.path] for f in manifest.files)
    assert not (folder / ".partial").exists()


def test_a_dataset_is_fetched_with_its_folders(hub, tmp_path):
    files = {
        "README.md": b"# MMLU",
        "all/test-00000-of-00001.parquet": b"PAR1 one",
        "all/auxiliary train.parquet": b"PAR1 two",
        "dev.jsonl.gz": b"three",
    }
    hub.add("dataset", DATASET, [files], card={"license": ["mit", "cc-by-4.0"]})
    manifest = fetch("dataset", DATASET, None, tmp_path)
    assert {file.path for file in manifest.files} == files.keys()
    assert all((tmp_path / name).read_bytes() == body for name, body in files.items())
    assert manifest.licence == "mit, cc-by-4.0"
    assert manifest.parameters is manifest.architecture is None


# ---- revisions ----


def test_revisions_by_default_tag_commit_and_reference(hub, tmp_path):
    old, new = hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    hub.repositories["model", MODEL].tags = {"v1": old, "refs/convert/parquet": old}
    asked = {None: new, "v1": old, old: old, "refs/convert/parquet": old}
    for number, (revision, commit) in enumerate(asked.items()):
        manifest = fetch("model", MODEL, revision, tmp_path / str(number))
        assert (manifest.revision, manifest.commit) == (revision, commit)


def test_the_lock_decides_and_changes_no_byte_of_the_manifest(hub, folder):
    old = hub.add("model", MODEL, [model_files(seed=1)])[0]
    fetch("model", MODEL, None, folder)
    unlocked = (folder / MANIFEST).read_bytes()
    hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    fetch("model", MODEL, None, folder, commit=old)
    assert (folder / MANIFEST).read_bytes() == unlocked


def test_a_pin_and_a_lock_that_differ_are_refused(hub, folder):
    old, new = hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    with pytest.raises(UserError, match=f"pins {MODEL} to commit {new}, the lock to {old}; delete"):
        fetch("model", MODEL, new, folder, commit=old)
    assert not hub.requests


def test_another_commit_leaves_nothing_of_the_earlier_one(hub, folder):
    first = model_files(seed=1) | {
        "vocab.txt": b"gone later",
        "additional_chat_templates/a.jinja": b"",
    }
    second = model_files(seed=2)
    old, new = hub.add("model", MODEL, [first, second])
    fetch("model", MODEL, old, folder)
    (folder / "stray").mkdir()
    (folder / "stray" / "model.safetensors").write_bytes(b"by hand")
    manifest = fetch("model", MODEL, new, folder)
    assert visible(folder) == {file.path for file in manifest.files} | {MANIFEST}
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []
    assert verify(folder, manifest) == []
    assert len(hub.asked("config.json")) == 1, "an unchanged file was fetched again"


def test_killed_between_two_commits_there_is_no_manifest(hub, folder, monkeypatch):
    old, new = hub.add("model", MODEL, [model_files(seed=1) | {"vocab.txt": b""}, model_files()])
    fetch("model", MODEL, old, folder)
    unlink = Path.unlink

    def killed_after_the_first(path, **options):
        unlink(path, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "unlink", killed_after_the_first)
        fetch("model", MODEL, new, folder)
    assert "vocab.txt" in visible(folder) and MANIFEST not in visible(folder)


def test_an_unknown_revision_is_named(hub, files, folder):
    with pytest.raises(UserError, match=r"has no revision 'v9'; .*/commits .* leave it blank"):
        fetch("model", MODEL, "v9", folder)
    assert not folder.exists()


# ---- which files ----


def test_no_code_and_no_pickles(hub, folder):
    refused = [f"pytorch_model{end}" for end in (".bin", ".bin.index.json", ".pt", ".pth", ".ckpt")]
    refused += ["modeling.py", "a.pkl", "b.msgpack", "c.h5", "LICENSE.py", "onnx/model.safetensors"]
    refused += ["consolidated.safetensors", "model.fp16.safetensors", "manifest.json"]
    files = model_files() | dict.fromkeys(refused, b"no")
    hub.add("model", MODEL, [files | {"LICENSE": b"yes", "model.safetensors.index.json": b"{}"}])
    manifest = fetch("model", MODEL, None, folder)
    names = {file.path for file in manifest.files}
    assert names == {
        *model_files().keys() - {".gitattributes"},
        "LICENSE",
        "model.safetensors.index.json",
    }
    assert not any(hub.asked(f"/{name}") for name in refused)


def test_a_dataset_brings_no_code(hub, tmp_path):
    refused = ["mmlu.py", "data.tar", "x.pkl", ".hidden/a.json", "sub/manifest.json"]
    hub.add("dataset", DATASET, [{"a.parquet": b"yes"} | dict.fromkeys(refused, b"no")])
    assert [file.path for file in fetch("dataset", DATASET, None, tmp_path).files] == ["a.parquet"]
    assert not any(hub.asked(f"/{name}") for name in refused)


@pytest.mark.parametrize(
    ("kind", "files", "sentence"),
    [
        ("model", {"config.json": b"{}", "pytorch_model.bin": b""}, "holds no safetensors weights"),
        ("model", {"adapter_model.safetensors": safetensors(8)}, "holds no config.json"),
        ("dataset", {"mmlu.py": b""}, "holds no data files .* refs/convert/parquet"),
    ],
)
def test_a_repository_without_what_is_needed(hub, folder, kind, files, sentence):
    [commit] = hub.add(kind, MODEL, [files])
    with pytest.raises(UserError, match=f"The {kind} {MODEL} at commit {commit} {sentence}"):
        fetch(kind, MODEL, None, folder)


@pytest.mark.parametrize("path", ["../x.json", "/etc/x.json", "a/../../x.json", "..\\x.json"])
def test_a_path_that_climbs_is_refused(hub, folder, path):
    hub.add("model", MODEL, [model_files() | {path: b"gotcha"}])
    with pytest.raises(UserError, match="would be written outside its folder"):
        fetch("model", MODEL, None, folder)
    assert not folder.exists() and not hub.asked("/resolve/")


def test_a_name_that_is_none_is_refused_without_asking(hub, tmp_path):
    with pytest.raises(
        UserError, match=r"'gpt2' is not a repository on the hub: .* organisation/name"
    ):
        fetch("model", "gpt2", None, tmp_path)
    assert not hub.requests


# ---- broken connections ----


@pytest.mark.parametrize("how", ["cut_after", "reset_after"])
def test_a_broken_connection_goes_on_where_it_stopped(hub, folder, how):
    files = model_files(1_000_000)
    hub.add("model", MODEL, [files])
    hub.faults.append(Fault("model.safetensors", times=2, **{how: 300_000}))
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    # Whole steps of 64 KiB are kept of the 300,000 bytes that came each time.
    starts = [request.start for request in hub.asked("model.safetensors", "cdn")]
    assert starts == [0, 262_144, 524_288]
    total = len(files["model.safetensors"])
    assert hub.sent("model.safetensors") == 300_000 * 2 + (total - 524_288)


def test_a_connection_may_break_often_as_long_as_something_arrives(hub, files, folder, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    hub.faults.append(Fault("model.safetensors", times=9, reset_after=70_000))
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    assert len(hub.asked("model.safetensors", "cdn")) == 10


@pytest.mark.parametrize("where", ["/api/", "model.safetensors"])
def test_a_passing_error_of_the_server_is_passed_over(hub, files, folder, where):
    hub.faults.append(Fault(where, status=503))
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    assert len(hub.asked(where, "hub")) == 2


def test_a_server_whose_file_became_shorter_than_what_is_here(hub, files, folder):
    hub.faults += [
        Fault("model.safetensors", cut_after=300_000),
        Fault("model.safetensors", altered=lambda body: body[:100_000]),
    ]
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    starts = [request.start for request in hub.asked("model.safetensors", "cdn")]
    assert starts == [0, 262_144, 0]


BUSY = {"status": 429, "headers": {"Retry-After": "1"}}
NO_SUCH = {"X-Error-Code": "RepoNotFound"}
NO_TOKEN = {"X-Error-Message": "Invalid credentials in Authorization header"}
LOGIN = b"<html>Welcome to the airport</html>"
IN_VAIN = [
    (Fault("model.safetensors", reset_after=0), "http://127.0.0.1:.* cannot be reached for the model Qwen/"),
    (Fault("tokenizer.json", status=502), f"answered 502 .* the model {MODEL} .* run again later"),
    (Fault("model.safetensors", **BUSY), r"refuses more requests \(429\).* set HF_TOKEN"),
    (Fault("/api/", status=200, body=LOGIN), "does not answer as a Hugging Face hub does"),
    # What is missing may be private.
    (Fault("/api/", status=401, headers=NO_SUCH), rf"shows no model {MODEL} \(401\): .* wrong.* private"),
    (Fault("/api/", status=404, headers=NO_SUCH), rf"shows no model {MODEL} \(404\): .* wrong.* private"),
    (Fault("/api/", status=401, headers=NO_TOKEN), "refused the token in HF_TOKEN"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "sentence"), IN_VAIN, ids=lambda part: str(part)[:40])
def test_what_goes_wrong_for_ever_is_given_up_in_a_sentence(
    hub, files, folder, monkeypatch, fault, sentence
):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    hub.faults.append(replace(fault, times=99))
    with pytest.raises(UserError, match=sentence):
        fetch("model", MODEL, None, folder)
    assert is_clean_failure(folder, files)
    assert len(hub.asked(fault.on)) <= 12, "the patience of the client is bounded"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ENDPOINT", "http://127.0.0.1:9", r"cannot be reached .* fetch_model needs the internet: .* login"),
        ("HF_HUB_OFFLINE", True, r"HF_HUB_OFFLINE is set, .* unset it where the rule fetch_model"),
    ],
)  # fmt: skip
def test_without_a_network_it_is_said_where_to_run(hub, folder, monkeypatch, name, value, sentence):
    monkeypatch.setattr(constants, name, value)
    with pytest.raises(UserError, match=sentence):
        fetch("model", MODEL, None, folder)
    assert not hub.requests and not folder.exists()


# ---- refusals ----


@pytest.mark.parametrize("where", ["/api/", "model.safetensors"])
def test_429_waits_as_long_as_it_is_asked_to(hub, files, folder, where):
    hub.faults.append(Fault(where, status=429, headers={"Retry-After": "1"}))
    fetch("model", MODEL, None, folder)
    refused, answered = hub.asked(where, "hub")
    assert answered.at - refused.at >= 1


@pytest.mark.parametrize(("token", "status"), [(None, 401), (TOKEN, 403)])
@pytest.mark.parametrize(("kind", "prefix"), [("model", ""), ("dataset", "datasets/")])
def test_gated_says_what_to_accept_and_where(hub, folder, monkeypatch, token, status, kind, prefix):
    hub.add(kind, MODEL, [model_files()], gated=True)
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    accept = rf"is gated \({status}\): accept its licence at {hub.url}/{prefix}{MODEL},.*HF_TOKEN"
    with pytest.raises(UserError, match=accept):
        fetch(kind, MODEL, None, folder)
    assert visible(folder) == set()


# ---- truncated, altered, no room ----


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize(
    "altered",
    [lambda body: body[:-1], lambda body: body[:-1] + b"?", lambda body: b""],
    ids=["truncated", "altered", "empty"],
)
def test_a_wrong_file_is_fetched_once_more_and_then_refused(hub, files, folder, name, altered):
    hub.faults.append(Fault(name, times=1, altered=altered))
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    server = "cdn" if name in ("model.safetensors",) else "hub"
    assert [request.start for request in hub.asked(name, server)] == [0, 0]

    shutil.rmtree(folder)
    hub.faults.append(Fault(name, times=99, altered=altered))
    with pytest.raises(UserError, match=f"{name} was fetched twice and twice differs"):
        fetch("model", MODEL, None, folder)
    assert len(hub.asked(name, server)) == 4
    assert is_clean_failure(folder, files) and name not in visible(folder)
    assert list((folder / ".partial").iterdir()) == []


def test_a_file_altered_on_the_disk_is_replaced_and_the_others_kept(hub, files, folder):
    manifest = fetch("model", MODEL, None, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    hub.requests.clear()
    assert fetch("model", MODEL, None, folder) == manifest
    assert [r.path.split("/")[-1] for r in hub.asked("/resolve/", "hub")] == ["model.safetensors"]
    assert verify(folder, manifest) == []


def leave_free(monkeypatch, free: int) -> None:
    usage = SimpleNamespace(total=10**9, used=10**9 - free, free=free)
    monkeypatch.setattr(fetch_module.shutil, "disk_usage", lambda _: usage)


def test_too_small_a_disk_is_noticed_before_anything_is_fetched(hub, folder, monkeypatch):
    hub.add("model", MODEL, [model_files(3_000_000)])
    (folder / ".partial").mkdir(parents=True)
    (folder / ".partial" / "of-another-commit").write_bytes(b"takes up room")
    leave_free(monkeypatch, 2_000_000)
    needs = rf"{MODEL} needs 3\.0 MB more in .*, where 2\.0 MB are free; free some"
    with pytest.raises(UserError, match=needs):
        fetch("model", MODEL, None, folder)
    assert not hub.asked("/resolve/")
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_what_has_arrived_is_not_asked_of_the_disk_again(hub, folder, monkeypatch):
    weights = model_files(3_000_000)["model.safetensors"]
    hub.add("model", MODEL, [model_files(3_000_000)])
    partial = folder / ".partial" / hashlib.sha256(weights).hexdigest()
    partial.parent.mkdir(parents=True)
    partial.write_bytes(weights[:2_900_000])
    leave_free(monkeypatch, 200_000)
    assert verify(folder, fetch("model", MODEL, None, folder)) == []
    assert hub.sent() == len(weights) - 2_900_000


@pytest.mark.parametrize("when", ["while it is written", "when it gets its name"])
def test_a_disk_that_becomes_full(hub, files, folder, monkeypatch, when):
    if when == "while it is written":
        # The device that is always full stands in for the disk: the kernel's own error.
        manifest = fetch("model", MODEL, None, folder)
        digest = next(f.sha256 for f in manifest.files if f.path == "model.safetensors")
        (folder / "model.safetensors").unlink()
        (folder / ".partial").mkdir()
        (folder / ".partial" / digest).symlink_to("/dev/full")
    else:

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("workflow_scripts.core.files.os.fsync", full)
    with pytest.raises(
        UserError, match=rf"became full while {MODEL} was fetched into .*; free some"
    ):
        fetch("model", MODEL, None, folder)
    assert is_clean_failure(folder, files) and "model.safetensors" not in visible(folder)


# ---- the steps, each in a process of its own ----

RUN_STEP = """
import json, runpy, sys
from types import SimpleNamespace
told = json.loads(sys.argv[1])
snakemake = SimpleNamespace(
    rule=told["rule"], threads=1, log=[told["log"]], input={}, wildcards={},
    output={"manifest": told["manifest"]}, params=told["params"],
)
runpy.run_path("workflow_scripts/steps/fetch.py", init_globals={"snakemake": snakemake})
"""


def start_step(hub, tmp_path: Path, rule: str, folder: Path, **environment) -> subprocess.Popen:
    kind = rule.removeprefix("fetch_")
    repository = {"model": MODEL, "dataset": DATASET}[kind]
    params = {"kind": kind, "repository": repository, "revision": None}
    params["lock"] = str(tmp_path / "hub.lock.tsv")
    told = {"rule": rule, "log": str(tmp_path / "logs" / f"{rule}.log"), "params": params}
    told["manifest"] = str(folder / MANIFEST)
    plain = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    plain |= {"HF_ENDPOINT": hub.url, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN_STEP, json.dumps(told)],
        cwd=ROOT,
        env=plain | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_steps_fetch_by_environment_alone(hub, files, tmp_path, folder):
    hub.add("dataset", DATASET, [{"a.parquet": b"PAR1"}])
    model = start_step(hub, tmp_path, "fetch_model", folder)
    dataset = start_step(hub, tmp_path, "fetch_dataset", tmp_path / "dataset")
    assert (model.communicate()[0], model.returncode) == ("", 0)
    assert (dataset.communicate()[0], dataset.returncode) == ("", 0)
    assert verify(folder, read_manifest(folder / MANIFEST)) == []
    assert read_manifest(tmp_path / "dataset" / MANIFEST).repository == DATASET
    assert "model.safetensors (1," in (tmp_path / "logs/fetch_model.log").read_text()


def test_killed_in_mid_download_the_next_run_fetches_the_rest_only(hub, tmp_path, folder):
    files = model_files(24_000_000)
    hub.add("model", MODEL, [files])
    hub.faults.append(Fault("model.safetensors", stall_after=22_000_000))
    step = start_step(hub, tmp_path, "fetch_model", folder)
    arrived = 20 * 1024 * 1024  # whole steps of the client, 10 MiB each
    while sum(p.stat().st_size for p in folder.glob(".partial/*")) < arrived:
        assert step.poll() is None, (tmp_path / "logs/fetch_model.log").read_text()
        time.sleep(0.05)
    step.send_signal(signal.SIGKILL)
    step.communicate()
    assert visible(folder) == {"README.md", "config.json"}

    hub.requests.clear()
    step = start_step(hub, tmp_path, "fetch_model", folder)
    step.communicate()
    assert step.returncode == 0
    assert hub.sent("model.safetensors") == len(files["model.safetensors"]) - arrived
    fetched = [request.path.split("/")[-1] for request in hub.asked("/resolve/", "hub")]
    assert fetched == ["model.safetensors", "tokenizer.json"]
    assert verify(folder, read_manifest(folder / MANIFEST)) == []


@pytest.mark.parametrize("gated", [False, True])
def test_the_token_goes_to_the_hub_and_nowhere_else(hub, tmp_path, folder, gated):
    hub.add("model", MODEL, [model_files()], gated=gated)
    # HF_DEBUG makes the client log every request with its headers.
    step = start_step(hub, tmp_path, "fetch_model", folder, HF_TOKEN=TOKEN, HF_DEBUG="1")
    output = step.communicate()[0]
    assert (step.returncode == 1) == gated
    assert {request.authorization for request in hub.asked("/resolve/", "hub")} == {
        f"Bearer {TOKEN}"
    }
    assert {request.authorization for request in hub.asked("", "cdn")} <= {None}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("fetch_model.log" in path.name for path in written)
    assert not [path for path in written if TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in output


def test_a_failed_step_ends_in_one_sentence(hub, tmp_path, folder):
    hub.add("model", MODEL, [model_files()], gated=True)
    step = start_step(hub, tmp_path, "fetch_model", folder)
    assert step.communicate() and step.returncode == 1
    log = (tmp_path / "logs/fetch_model.log").read_text()
    assert f"fetch_model: The model {MODEL} is gated" in log and "Traceback" not in log
