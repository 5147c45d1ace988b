"""What another folder of the same repository has is linked and not fetched again."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.unit.hub.fake_hub import Fault, model_files
from workflow_scripts.hub.fetch import fetch
from workflow_scripts.hub.manifest import verify

MODEL = "Qwen/Qwen2.5-0.5B"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "hub" / "models" / MODEL


def test_another_commit_brings_only_what_it_has_changed(hub, folder):
    files = model_files()
    old, new = hub.add("model", MODEL, [files, files | {"README.md": b"# Better words"}])
    kept = fetch("model", MODEL, old, folder)
    stranger = folder.with_name(folder.name + "-Instruct")  # another model, with the same card
    stranger.mkdir()
    (stranger / "README.md").write_bytes(b"# Better words")
    beside = folder.with_name(f"{folder.name}@{new}")
    hub.requests.clear()
    manifest = fetch("model", MODEL, new, beside)
    assert [r.path.split("/")[-1] for r in hub.asked("/resolve/", "hub")] == ["README.md"]
    assert verify(beside, manifest) == verify(folder, kept) == []
    shutil.rmtree(folder)  # neither needs the other
    assert verify(beside, manifest) == []


def test_what_is_altered_beside_is_fetched(hub, folder):
    [commit] = hub.add("model", MODEL, [model_files()])
    fetch("model", MODEL, None, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    beside = folder.with_name(f"{folder.name}@{commit}")
    fetch("model", MODEL, commit, beside)
    assert (beside / weights.name).read_bytes() == model_files()[weights.name]


def test_two_fetches_of_one_model_at_once_bring_it_once(hub, folder, capsys):
    [commit] = hub.add("model", MODEL, [model_files(3_000_000)])
    hub.faults.append(Fault("model.safetensors", cut_after=1_000_000))  # the first is held up
    beside = folder.with_name(f"{folder.name}@{commit}")
    with ThreadPoolExecutor() as both:
        fetches = [
            both.submit(fetch, "model", MODEL, revision, into)
            for revision, into in ((None, folder), (commit, beside))
        ]
    manifests = [one.result() for one in fetches]
    assert verify(folder, manifests[0]) == verify(beside, manifests[1]) == []
    assert hub.sent() < 2 * (folder / "model.safetensors").stat().st_size
    assert capsys.readouterr().out.count("Waiting for another fetch") == 1
