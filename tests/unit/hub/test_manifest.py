"""Test manifests of fetched repositories and of local folders: files, sizes and checksums."""

import os

import pytest

from tests.unit.settings.test_model_folders import save
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.local_folders import import_model_folder
from workflow_scripts.hub.manifest import (
    MANIFEST,
    describe_damage,
    hash_files,
    read_manifest,
    require_unchanged,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path):
    files = {"data/test.parquet": b"PAR1", "model.safetensors": b"weights", "config.json": b"{}"}
    for name, body in (files | {".cache/config.json.metadata": b"x"}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(body)
    return tmp_path


@pytest.fixture
def manifest(folder):
    facts = {"kind": "model", "source": "huggingface", "repository": "org/name", "revision": "v1"}
    return write_manifest(folder, licence="mit", parameters=7, **facts)


def test_seal(folder, manifest):
    """Caches and the manifest itself are not listed; the weights digest depends only on the weights."""
    assert read_manifest(folder / MANIFEST) == manifest
    names = ["config.json", "data/test.parquet", "model.safetensors"]
    assert [file.path for file in manifest.files] == names
    for name, is_same in (("config.json", True), ("model.safetensors", False)):
        (folder / name).write_bytes(b"other")
        changed = manifest.model_copy(update={"files": hash_files(folder)})
        assert (changed.weights_sha256 == manifest.weights_sha256) == is_same


def test_verify_damaged_files(folder, manifest):
    assert describe_damage(folder, manifest) == []
    require_unchanged(folder, manifest)
    (folder / "config.json").unlink()
    (folder / "data" / "test.parquet").write_bytes(b"PAR")
    (folder / "model.safetensors").write_bytes(b"Weights")
    damaged = ["config.json", "data/test.parquet", "model.safetensors"]
    for problem, name in zip(describe_damage(folder, manifest), damaged, strict=True):
        assert str(folder / name) in problem
    with pytest.raises(UserError, match=r"config\.json is missing"):
        require_unchanged(folder, manifest)


def test_import_model_folder(tmp_path):
    """The same bytes give the same commit; overwriting a linked file in place is detected."""
    folder, target = tmp_path / "mine", tmp_path / "hub/models/local/mine"
    save(folder, **{"README.md": b"---\nlicense: mit\ntags: [x]\n---\n# Mine\n"})
    manifest = import_model_folder(folder, "local/mine", target)
    assert manifest == read_manifest(target / MANIFEST) and describe_damage(folder, manifest) == []
    assert (manifest.source, manifest.licence, manifest.parameters) == ("local", "mit", 500)
    assert import_model_folder(folder, "local/mine", target).commit == manifest.commit
    (folder / "README.md").write_bytes(b"---\nlicense: [\n---\n")
    manifest = import_model_folder(folder, "local/mine", target)
    assert manifest.licence is None
    require_unchanged(target, manifest)
    with (folder / "model.safetensors").open("r+b") as file:  # the same inode and size
        file.seek(-1, os.SEEK_END)
        file.write(b"\x00")
    later = (target / MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(folder / "model.safetensors", ns=(later, later))
    assert describe_damage(target, manifest), "no link was made, and the test shows nothing"
    with pytest.raises(UserError, match="was written again"):
        require_unchanged(target, manifest)
