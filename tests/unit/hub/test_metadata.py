"""Test fetching the metadata that checks a submitted model, without its weights, from a fake hub."""

import pytest

from tests.unit.hub.conftest import point_client
from tests.unit.hub.fake_hub import model_files
from workflow_scripts.core.failed_cells import list_failed_cells
from workflow_scripts.hub.metadata import METADATA, fetch_metadata, main, read_metadata
from workflow_scripts.hub.submission import SubmissionRules, check_submissions

MODEL = "acme/Rocket-1B"


@pytest.fixture
def folder(here):
    return here / f"hub/submitted/{MODEL}@default"


def test_fetch_metadata(hub, folder):
    """Weights, code and pickles are not fetched, but the file list has the weights."""
    left_out = {"pytorch_model.bin": b"pickle", "modeling.py": b"raise SystemExit"}
    files = model_files() | left_out
    [commit] = hub.add("model", MODEL, [files], card={"license": "mit"})
    fetch_metadata(MODEL, None, folder)
    metadata = read_metadata(folder / METADATA)
    assert (metadata.commit, metadata.licence) == (commit, "mit")
    small = {"README.md", "config.json", "tokenizer.json"}
    weights = files["model.safetensors"]
    assert {file.path for file in metadata.files} == {*small, "model.safetensors"}
    assert [file.size for file in metadata.files if file.path not in small] == [len(weights)]
    assert {path.name for path in folder.iterdir()} == {*small, METADATA}
    assert hub.count_sent("cdn") == 0, "weights were sent"


@pytest.mark.parametrize("fault", ["gated", "unreachable", "altered"])
def test_fetch_metadata_hides_account(hub, folder, tmp_path, monkeypatch, capsys, fault):
    """A mirror's credentials are written nowhere after any fault."""
    url = hub.url if fault != "unreachable" else "http://127.0.0.1:9"
    point_client(monkeypatch, url.replace("://", "://my-name:my-password@"))
    hub.add("model", MODEL, [model_files()], card={"license": "mit"}, gated=fault == "gated")
    if fault == "altered":
        hub.altered["config.json"] = 9
    main(MODEL, "default", folder / METADATA, folder / "log", None, None)
    request = {"name": MODEL, "precision": "float32", "model_type": "pretrained"}
    submissions = {"a.yaml": {"request": request, "sources": [folder / METADATA]}}
    verdict = check_submissions(submissions, SubmissionRules(8_000, ()))["a.yaml"]
    (note,) = list_failed_cells()
    assert MODEL in note["reason"] and note["reason"] == verdict["reason"]
    written = [path.read_text() for path in tmp_path.rglob("*.json")]
    for text in (*written, str(verdict), capsys.readouterr().out):
        assert "my-name" not in text and "my-password" not in text
