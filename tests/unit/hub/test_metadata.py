"""What a submitted model is checked by is fetched without its weights, from a hub on this machine."""

import errno

import pytest

from tests.unit.hub.fake_hub import Fault, model_files
from workflow_scripts.core.broken import broken_cells, clear_broken_cells
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.metadata import METADATA, fetch_metadata, read_metadata, refuse
from workflow_scripts.hub.submission import Rules, check, read_repository
from workflow_scripts.settings.requests import Request
from workflow_scripts.steps.fetch_metadata import main

MODEL = "acme/Rocket-1B"


@pytest.fixture
def folder(here):
    return here / f"hub/submitted/{MODEL}@default"


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
    submitted = read_repository(folder / METADATA)
    assert (submitted.commit, submitted.folder) == (commit, folder)
    assert "model.safetensors" in submitted.files


def test_a_repository_of_pickles_is_listed_where_fetching_it_is_refused(hub, folder):
    hub.add("model", MODEL, [{"config.json": b"{}", "pytorch_model.bin": b"pickle"}])
    fetch_metadata(MODEL, None, folder)
    assert set(read_repository(folder / METADATA).files) == {"config.json", "pytorch_model.bin"}


def test_what_cannot_be_had_is_a_reason_until_the_next_run(hub, folder, tmp_path):
    with pytest.raises(UserError, match="shows no model") as raised:
        fetch_metadata(MODEL, None, folder)
    refuse(folder / METADATA, raised.value, tmp_path / "log")
    with pytest.raises(UserError, match="shows no model"):
        read_repository(folder / METADATA)
    assert "status" not in verdict_of(folder)
    (note,) = broken_cells()
    assert "shows no model" in note["reason"]
    clear_broken_cells()
    assert not (folder / METADATA).exists()
    assert not broken_cells()


def verdict_of(folder):
    one = Request(name=MODEL, precision="float32", model_type="pretrained")
    sources = {"a.yaml": [folder / METADATA]}
    return check({"a.yaml": one}, sources, Rules(8_000, ()))["a.yaml"]


def test_a_hub_that_does_not_answer_refuses_nothing(hub, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="rule fetch_metadata") as raised:
        fetch_metadata(MODEL, None, folder)
    refuse(folder / METADATA, raised.value, tmp_path / "log")
    found = verdict_of(folder)
    assert found["status"] == "unchecked"
    assert "cannot be reached" in found["reason"]


@pytest.mark.parametrize("fault", ["absent", "gated", "no hub", "nobody", "altered"])
def test_whatever_fails_the_account_of_a_mirror_is_written_nowhere(
    hub, folder, tmp_path, monkeypatch, capsys, fault
):
    address = hub.url if fault != "nobody" else "http://127.0.0.1:9"
    address = address.replace("://", "://my-name:my-password@")
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    if fault != "absent":
        hub.add("model", MODEL, [model_files()], card={"license": "mit"}, gated=fault == "gated")
    if fault == "no hub":
        hub.faults.append(Fault("/api/", times=9, status=200, body=b"<html>Log in</html>"))
    if fault == "altered":
        hub.faults.append(Fault("config.json", times=9, altered=lambda body: b"x" * len(body)))
    log, lock = tmp_path / "log", tmp_path / "lock"
    main(MODEL, "default", folder / METADATA, log, revision=None, lock=lock)
    verdict = verdict_of(folder)
    assert verdict["reason"] and "127.0.0.1" in verdict["reason"]
    written = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert len(written) >= 2
    for text in (*written, str(verdict), capsys.readouterr().out):
        assert "my-name" not in text and "my-password" not in text


@pytest.mark.parametrize("licence", [5, [1, 2.5], True, {"a": ["b"]}, "\x1b[2J" + "x" * 9_000])
def test_a_licence_of_any_kind_is_words(hub, folder, licence):
    hub.add("model", MODEL, [model_files()], card={"license": licence})
    fetch_metadata(MODEL, None, folder)
    found = read_metadata(folder / METADATA).licence
    assert isinstance(found, str) and "\x1b" not in found and len(found) <= 1_001


def test_the_machine_s_fault_is_no_verdict(hub, folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.EIO, "Input/output error")

    hub.add("model", MODEL, [model_files()], card={"license": "mit"})
    monkeypatch.setattr("workflow_scripts.hub.metadata.download_small", full)
    with pytest.raises(OSError, match="Input/output"):
        main(
            MODEL,
            "default",
            folder / METADATA,
            tmp_path / "log",
            revision=None,
            lock=tmp_path / "lock",
        )
    assert not (folder / METADATA).exists()
