import json

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import (
    MANIFEST,
    Manifest,
    content_commit,
    list_files,
    read_manifest,
    verify,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.parquet").write_bytes(b"PAR1")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    return tmp_path


@pytest.fixture
def manifest(folder):
    manifest = Manifest(
        kind="model",
        source="huggingface",
        repository="org/name",
        revision="v1",
        commit="a" * 40,
        licence="mit",
        parameters=7,
        architecture="Qwen2ForCausalLM",
        files=list_files(folder),
    )
    write_manifest(folder, manifest)
    return manifest


def test_it_is_read_as_it_was_written(folder, manifest):
    assert read_manifest(folder / MANIFEST) == manifest
    assert [file.path for file in manifest.files] == [
        "config.json",
        "data/test.parquet",
        "model.safetensors",
    ]
    assert verify(folder, manifest) == []


def test_caches_and_the_manifest_itself_are_not_listed(folder, manifest):
    (folder / ".cache" / "huggingface").mkdir(parents=True)
    (folder / ".cache" / "huggingface" / "config.json.metadata").write_text("x")
    (folder / ".partial").mkdir()
    (folder / ".partial" / "0123").write_text("x")
    assert list_files(folder) == manifest.files


def test_the_weights_digest_depends_on_the_weights_alone(folder, manifest):
    (folder / "config.json").write_bytes(b"{ }")
    changed_config = manifest.model_copy(update={"files": list_files(folder)})
    assert changed_config.weights_sha256 == manifest.weights_sha256
    assert content_commit(changed_config.files) != content_commit(manifest.files)
    (folder / "model.safetensors").write_bytes(b"Weights")
    changed_weights = manifest.model_copy(update={"files": list_files(folder)})
    assert changed_weights.weights_sha256 != manifest.weights_sha256


def test_each_missing_shortened_or_altered_file_is_told(folder, manifest):
    (folder / "config.json").unlink()
    (folder / "data" / "test.parquet").write_bytes(b"PAR")
    (folder / "model.safetensors").write_bytes(b"Weights")
    missing, shortened, altered = verify(folder, manifest)
    assert missing == f"{folder / 'config.json'} is missing."
    assert shortened.endswith("test.parquet has 3 bytes; expected 4.")
    assert "model.safetensors was altered" in altered


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"commit": "main"}, "commit: String should match"),
        ({"extra": 1}, "extra: Extra inputs are not permitted"),
        ({"schema_version": 2}, "schema_version: Input should be 1"),
    ],
)
def test_a_manifest_that_is_not_one_is_told_by_field(folder, manifest, change, problem):
    path = folder / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=f"{MANIFEST}: {problem}"):
        read_manifest(path)


def test_no_manifest_and_no_json(tmp_path):
    with pytest.raises(UserError, match="is missing; the rule that fetches it has not run"):
        read_manifest(tmp_path / MANIFEST)
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        read_manifest(tmp_path / MANIFEST)
