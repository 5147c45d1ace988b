"""What a submitted model is checked by is fetched without its weights, from a hub on this machine."""

import pytest

from tests.unit.hub.fake_hub import model_files
from workflow_scripts.core.broken import broken_cells, clear_broken_cells
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.metadata import METADATA, fetch_metadata, read_metadata, refuse
from workflow_scripts.hub.submission import Rules, check, read_submitted
from workflow_scripts.settings.requests import Request

MODEL = "acme/Rocket-1B"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / f"hub/submitted/{MODEL}@default"


def test_all_but_the_weights_come_and_the_list_is_whole(hub, folder):
    files = model_files() | {"pytorch_model.bin": b"pickle", "modeling.py": b"raise SystemExit"}
    [commit] = hub.add("model", MODEL, [files], card={"license": "mit"})
    fetch_metadata(MODEL, None, folder)
    found = read_metadata(folder / METADATA)
    assert (found.commit, found.licence) == (commit, "mit")
    assert set(found.files) == set(files)
    assert found.files["pytorch_model.bin"] == 6
    here = {path.name for path in folder.iterdir()}
    assert "config.json" in here
    assert not any(name.endswith((".safetensors", ".bin", ".py")) for name in here)
    assert hub.sent() == 0, "weights were sent"
    submitted = read_submitted(folder / METADATA)
    assert (submitted.commit, submitted.folder) == (commit, folder)
    assert "model.safetensors" in submitted.files


def test_a_repository_of_pickles_is_listed_where_fetching_it_is_refused(hub, folder):
    hub.add("model", MODEL, [{"config.json": b"{}", "pytorch_model.bin": b"pickle"}])
    fetch_metadata(MODEL, None, folder)
    assert set(read_submitted(folder / METADATA).files) == {"config.json", "pytorch_model.bin"}


def test_what_cannot_be_had_is_a_reason_until_the_next_run(hub, folder, tmp_path):
    with pytest.raises(UserError, match="shows no model") as raised:
        fetch_metadata(MODEL, None, folder)
    refuse(folder / METADATA, raised.value, tmp_path / "log")
    with pytest.raises(UserError, match="shows no model"):
        read_submitted(folder / METADATA)
    assert "status" not in verdict_of(folder)
    (note,) = broken_cells()
    assert "shows no model" in note["reason"]
    clear_broken_cells()
    assert not (folder / METADATA).exists()
    assert not broken_cells()


def verdict_of(folder):
    one = Request(name=MODEL, precision="float32", model_type="pretrained")
    sources = {"a.yaml": folder / METADATA}
    return check({"a.yaml": one}, sources, Rules(8_000, ()))["a.yaml"]


def test_a_hub_that_does_not_answer_refuses_nothing(hub, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="rule fetch_metadata") as raised:
        fetch_metadata(MODEL, None, folder)
    refuse(folder / METADATA, raised.value, tmp_path / "log")
    found = verdict_of(folder)
    assert found["status"] == "unchecked"
    assert "cannot be reached" in found["reason"]
