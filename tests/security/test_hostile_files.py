"""Test that no code of others is run, also not by the name of a folder."""

import pytest

from tests.workflow.snakemake import ROOT, SMALL, run_snakemake


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
    manifest = "resources/hub/datasets/nyu-mll/glue/manifest.json"
    result = run_snakemake(folder, manifest, *SMALL, HF_TOKEN=token)
    assert result.returncode == 0 and (folder / manifest).is_file(), result.stderr
    assert not list(tmp_path.rglob("gotcha"))
    assert token not in result.stdout + result.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if token.encode() in path.read_bytes()]
