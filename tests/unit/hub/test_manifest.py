"""Manifests vouch for what the hub folder holds, of the hub and of folders on this machine."""

import json
import os

import pytest

from tests.unit.settings.test_folders import save
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.local_folders import import_model_folder
from workflow_scripts.hub.manifest import (
    MANIFEST,
    content_commit,
    list_files,
    read_manifest,
    require_unchanged,
    seal,
    verify,
)

FACTS = {"kind": "model", "source": "huggingface", "repository": "org/name", "revision": "v1"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.parquet").write_bytes(b"PAR1")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "config.json.metadata").write_text("x")
    return tmp_path


@pytest.fixture
def manifest(folder):
    return seal(folder, licence="mit", parameters=7, **FACTS)


def test_seal(folder, manifest):
    """Caches and the manifest itself are not listed; its digests are of content."""
    assert read_manifest(folder / MANIFEST) == manifest
    names = ["config.json", "data/test.parquet", "model.safetensors"]
    assert [file.path for file in manifest.files] == names
    assert verify(folder, manifest) == []
    (folder / "config.json").write_bytes(b"{ }")
    changed = manifest.model_copy(update={"files": list_files(folder)})
    assert changed.weights_sha256 == manifest.weights_sha256
    assert content_commit(changed.files) != manifest.commit
    (folder / "model.safetensors").write_bytes(b"Weights")
    changed = manifest.model_copy(update={"files": list_files(folder)})
    assert changed.weights_sha256 != manifest.weights_sha256


def test_verify_damaged_files(folder, manifest):
    (folder / "config.json").unlink()
    (folder / "data" / "test.parquet").write_bytes(b"PAR")
    (folder / "model.safetensors").write_bytes(b"Weights")
    missing, short, altered = verify(folder, manifest)
    assert missing == f"{folder / 'config.json'} is missing."
    assert "test.parquet was altered" in short and "model.safetensors was altered" in altered
    with pytest.raises(UserError) as raised:
        require_unchanged(folder, manifest)
    assert raised.value.problems[1].endswith("test.parquet has 3 bytes; expected 4.")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commit": "main"}, "commit: String should match"),
        ({"extra": 1}, "extra: Extra inputs are not permitted"),
    ],
)
def test_read_manifest_refused(folder, manifest, change, words):
    path = folder / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=f"{MANIFEST}: {words}"):
        read_manifest(path)


def test_take_folder(tmp_path):
    """Safetensors and small files are taken, neither code nor pickles; the same bytes are the same commit."""
    folder, target = tmp_path / "mine", tmp_path / "hub/models/local/mine"
    save(folder, **{"README.md": b"---\nlicense: mit\ntags: [x]\n---\n# Mine\n"})
    manifest = import_model_folder(folder, "local/mine", target)
    assert manifest == read_manifest(target / MANIFEST) and verify(folder, manifest) == []
    names = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    assert [file.path for file in manifest.files] == names
    assert sorted(os.listdir(target)) == sorted([*names, MANIFEST])
    assert (manifest.source, manifest.licence, manifest.parameters) == ("local", "mit", 500)
    (folder / "generation_config.json").write_bytes(b'{"top_k": 1}')
    assert import_model_folder(folder, "local/mine", target).commit != manifest.commit
    (folder / "generation_config.json").unlink()
    assert import_model_folder(folder, "local/mine", target).commit == manifest.commit
    for card in (b"# Mine\n", b"---\nlicense: [\n---\n", b"---\n- a\n---\n", b"\xff\n"):
        (folder / "README.md").write_bytes(card)
        assert import_model_folder(folder, "local/mine", target).licence is None


def test_require_unchanged_local(tmp_path):
    """A link shows what the next saving writes into the file, under the commit of before."""
    folder, target = tmp_path / "mine", tmp_path / "hub/models/local/mine"
    save(folder)
    manifest = import_model_folder(folder, "local/mine", target)
    require_unchanged(target, manifest)
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    with weights.open("r+b") as file:  # the same file, of the same size
        file.write(content[:-1] + b"\x00")
    later = (target / MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(weights, ns=(later, later))
    assert verify(target, manifest), "no link was made, and the test shows nothing"
    with pytest.raises(UserError, match="was written again after it was taken"):
        require_unchanged(target, manifest)
