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


def test_a_copy_that_was_put_there_is_not_loaded(shared, tmp_path, monkeypatch):
    """Of the right size, so that its checksum alone tells."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "node"))
    copy = on_this_node(*shared)
    (copy / "model.safetensors").write_bytes(b"planted")
    assert (on_this_node(*shared) / "model.safetensors").read_bytes() == b"weights"


def test_what_does_not_arrive_whole_is_not_loaded(shared, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "node"))
    monkeypatch.setattr(shutil, "copyfile", lambda source, copy: copy.write_bytes(b"xxxxxxx"))
    assert on_this_node(*shared) == shared[0]
    assert "cannot be copied" in capsys.readouterr().out


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o1777])
def test_a_folder_that_is_open_to_others_is_refused(shared, tmp_path, monkeypatch, capsys, mode):
    node = tmp_path / "node"
    node.mkdir()
    node.chmod(mode)
    monkeypatch.setenv(VARIABLE, str(node))
    assert on_this_node(*shared) == shared[0]
    assert "is not yours alone; expected your own folder of mode 700" in capsys.readouterr().out
    assert not list(node.iterdir())


def test_its_folder_may_not_be_exchanged_and_is_no_link(shared, tmp_path, monkeypatch, capsys):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for wanted, said in (("open/node", "others may write to"), ("link", "is not yours alone")):
        monkeypatch.setenv(VARIABLE, str(tmp_path / wanted))
        assert on_this_node(*shared) == shared[0]
        assert said in capsys.readouterr().out
    (tmp_path / "open").chmod(0o1777)  # as /tmp is: there nobody renames what is another's
    monkeypatch.setenv(VARIABLE, str(tmp_path / "open/node"))
    assert on_this_node(*shared).is_relative_to(tmp_path / "open/node")
    assert (tmp_path / "open/node").stat().st_mode & 0o777 == 0o700


def test_a_planted_link_empties_no_file(shared, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "node"))
    lock = on_this_node(*shared).with_suffix(".lock")
    (tmp_path / "precious").write_text("kept")
    lock.unlink()
    lock.symlink_to(tmp_path / "precious")
    shutil.rmtree(lock.with_suffix(""))
    assert on_this_node(*shared) == shared[0]
    assert (tmp_path / "precious").read_text() == "kept"
