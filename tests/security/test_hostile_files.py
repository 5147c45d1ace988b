"""Files by somebody else: manifests, records and models that would reach out of their folder."""

import json

import pytest

from tests.records import write_example
from tests.workflow.snakemake import ROOT, run_snakemake
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import escapes_folder
from workflow_scripts.core.ids import hub_name_problem
from workflow_scripts.core.records import read_record
from workflow_scripts.hub.manifest import read_manifest

_CLIMBING = ["../x", "a/../../x", "/etc/passwd", "..", "a\\..\\b", "a\nb", "a\0b"]


@pytest.mark.parametrize("path", _CLIMBING, ids=repr)
def test_a_manifest_that_leads_out_of_its_folder_is_refused(tmp_path, path):
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


@pytest.mark.parametrize("path", ["a", "a/b.json", "a b/c'd.json", "..a", "a..b/c", "ü.json"])
def test_ordinary_paths_are_not(path):
    assert not escapes_folder(path)


@pytest.mark.parametrize("file", ["../sst2.parquet", "/tmp/sst2.parquet", "a/sst2.parquet"])
def test_a_record_names_items_beside_it_alone(tmp_path, file):
    write_example(tmp_path / "sst2.json")
    fields = json.loads((tmp_path / "sst2.json").read_text())
    fields["items"]["file"] = file
    (tmp_path / "sst2.json").write_text(json.dumps(fields))
    with pytest.raises(UserError, match=r"sst2\.json: items\.file"):
        read_record(tmp_path / "sst2.json")


_NO_NAMES = [
    "../b",
    "a/..",
    "a/b/c",
    "/b",
    "a/",
    "a/b c",
    "a/b'c",
    'a/"b"',
    "a/b\n",
    "a/$(x)",
    "a/--b",
    "~/b",
]


@pytest.mark.parametrize("name", _NO_NAMES, ids=repr)
def test_names_that_are_none_are_refused(name):
    assert hub_name_problem(name)


def test_no_code_of_others_and_no_pickles_by_any_way_of_ours():
    """One place decides what may be loaded; nothing in the library asks for more."""
    sources = {path: path.read_text() for path in (ROOT / "workflow_scripts").rglob("*.py")}
    for path, text in sources.items():
        assert "trust_remote_code=True" not in text, path
        assert '"trust_remote_code": True' not in text, path
        for word in ("import pickle", "pickle.load", "torch.load(", "joblib", "yaml.load("):
            assert word not in text, f"{path} has {word}"


@pytest.mark.workflow
def test_a_folder_with_spaces_and_quotes_in_its_name_is_a_folder(tmp_path):
    folder = tmp_path / 'it\'s a "run" $(touch gotcha) ;'
    folder.mkdir()
    result = run_snakemake(folder, "--until", "build_world", "--config", "seed=1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (folder / "resources/hub/datasets/nyu-mll/glue/manifest.json").is_file()
    assert not list(tmp_path.rglob("gotcha"))
