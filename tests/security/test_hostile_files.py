"""Test that untrusted manifests, records and folder names cannot access files outside their folder."""

import json

import pytest

from tests.records import write_example
from tests.workflow.snakemake import ROOT, run_snakemake
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import read_record
from workflow_scripts.hub.manifest import read_manifest


@pytest.mark.parametrize("path", ["a/../../x", "/etc/passwd", "a\\..\\b", "a\nb", "a\0b"], ids=repr)
def test_manifest_path_outside_folder(tmp_path, path):
    manifest = {
        "kind": "model",
        "source": "huggingface",
        "repository": "a/b",
        "revision": None,
        "commit": "0" * 40,
        "licence": None,
        "files": [{"path": path, "size": 1, "sha256": "0" * 64}],
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="leads out of the folder; do not trust this manifest"):
        read_manifest(tmp_path / "manifest.json")


@pytest.mark.parametrize("file", ["../sst2.parquet", "/tmp/sst2.parquet", "a/sst2.parquet"])
def test_record_items_outside_folder(tmp_path, file):
    path = tmp_path / "sst2.json"
    write_example(path)
    fields = json.loads(path.read_text())
    fields["items"]["file"] = file
    path.write_text(json.dumps(fields))
    with pytest.raises(UserError, match=r"sst2\.json: items\.file"):
        read_record(path)


def test_no_remote_code_and_no_pickles():
    forbidden = ("trust_remote_code=True", '"trust_remote_code": True', "import pickle")
    forbidden += ("pickle.load", "torch.load(", "joblib", "yaml.load(")
    for path in (ROOT / "workflow_scripts").rglob("*.py"):
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path


@pytest.mark.workflow
def test_folder_name_with_shell_signs(tmp_path):
    """The folder name is not executed, and no file contains the token of the environment."""
    token = "hf_" + "PlantedTokenPlantedTokenPlanted"
    folder = tmp_path / 'it\'s a "run" $(touch gotcha) ;'
    folder.mkdir()
    result = run_snakemake(folder, "--until", "build_world", "--config", "seed=1", HF_TOKEN=token)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (folder / "resources/hub/datasets/nyu-mll/glue/manifest.json").is_file()
    assert not list(tmp_path.rglob("gotcha"))
    assert token not in result.stdout + result.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if token.encode() in path.read_bytes()]
