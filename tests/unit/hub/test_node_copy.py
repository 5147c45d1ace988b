"""A model is read from the node's own disk where that is asked for, and from the shared one otherwise."""

import shutil
from collections import namedtuple

import pytest

from tests.tiny_models import sealed
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.node_copy import VARIABLE, on_this_node


@pytest.fixture
def shared(tmp_path):
    folder = tmp_path / "hub/models/acme/rocket"
    (folder / "more").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "more/config.json").write_text("{}")
    return folder, read_manifest(sealed(folder, "acme/rocket"))


def test_without_the_variable_the_shared_folder_is_read(shared, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert on_this_node(*shared) == shared[0]


def test_the_copy_is_whole_made_once_and_made_again_when_it_is_not_whole(
    shared, tmp_path, monkeypatch
):
    monkeypatch.setenv("NODE_DISK", str(tmp_path / "node"))
    monkeypatch.setenv(VARIABLE, "$NODE_DISK/hub")
    copy = on_this_node(*shared)
    assert copy.is_relative_to(tmp_path / "node/hub")
    assert (copy / "more/config.json").read_text() == "{}"
    made = (copy / "model.safetensors").stat().st_ino
    assert on_this_node(*shared) == copy
    assert (copy / "model.safetensors").stat().st_ino == made
    (copy / "model.safetensors").write_bytes(b"we")
    assert (on_this_node(*shared) / "model.safetensors").read_bytes() == b"weights"


def test_where_it_does_not_fit_or_cannot_be_the_shared_folder_is_read(
    shared, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "node"))
    usage = namedtuple("usage", "free")
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: usage(3))
        assert on_this_node(*shared) == shared[0]
    assert "not free there" in capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, "$NO_SUCH_VARIABLE/hub")
    assert on_this_node(*shared) == shared[0]
    assert "which this node does not know" in capsys.readouterr().out
