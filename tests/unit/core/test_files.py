"""A file is whole or absent, whatever happens while it is written."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workflow_scripts.core.files import (
    atomic_dir,
    atomic_path,
    canonical_json,
    sha256_file,
    sha256_json,
    write_json,
    write_text,
)


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half of the n")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "model"
    for name in ("first", "second"):
        with atomic_dir(target) as temporary:
            (temporary / name).write_text(name)
    assert os.listdir(target) == ["second"]
    with pytest.raises(RuntimeError), atomic_dir(target) as temporary:
        (temporary / "third").write_text("third")
        raise RuntimeError
    assert os.listdir(target) == ["second"]
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_that_is_linked_into_a_new_folder_is_replaced_there_alone(tmp_path):
    (base := tmp_path / "config.json").write_text("base")
    with atomic_dir(tmp_path / "model") as temporary:
        os.link(base, temporary / "config.json")
        write_text(temporary / "config.json", "another")
    assert base.read_text() == "base"
    assert (tmp_path / "model/config.json").read_text() == "another"


KILLED_WRITER = """
import sys, time
from pathlib import Path
from workflow_scripts.core.files import atomic_path
with atomic_path(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_killed_writer_left_is_swept_by_the_next_and_a_running_one_is_not(tmp_path, killed):
    target = tmp_path / "record.json"
    write_text(target, "old")
    command = [sys.executable, "-c", KILLED_WRITER, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout.readline() == "writing\n"
            if killed:
                writer.kill()
                writer.wait()
            assert target.read_text() == "old"
            assert len(os.listdir(tmp_path)) == 2, "its temporary file"
            write_text(target, "new")
            assert len(os.listdir(tmp_path)) == 2 - killed
            assert target.read_text() == "new"
        finally:
            writer.kill()


@pytest.fixture
def told_to_the_disk(tmp_path, monkeypatch):
    """In its order, what is flushed and what is renamed, by paths in the test's folder."""
    told, fsync, rename = [], os.fsync, os.replace

    def name(path):
        return os.path.relpath(path, tmp_path).replace(f"{socket.gethostname()}-{os.getpid()}", "")

    def flushed(descriptor):
        told.append(f"flush {name(Path(f'/proc/self/fd/{descriptor}').readlink())}")
        fsync(descriptor)

    def renamed(source, target):
        told.append(f"rename {name(source)} {name(target)}")
        rename(source, target)

    def replaced(self, target):
        renamed(self, target)
        return Path(target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", replaced)
    return told


def test_content_is_on_the_disk_before_its_name_and_its_name_before_the_writer_goes_on(
    tmp_path, told_to_the_disk
):
    """Or a power cut leaves a name without content, or takes back what others build on."""
    write_text(tmp_path / "new/folder/record.json", "whole")
    assert told_to_the_disk == [
        "flush .",
        "flush new",
        "flush new/folder/.record.json.tmp-",
        "rename new/folder/.record.json.tmp- new/folder/record.json",
        "flush new/folder",
    ]


def test_of_a_folder_each_file_each_folder_and_itself_come_before_its_name(
    tmp_path, told_to_the_disk
):
    with atomic_dir(tmp_path / "model") as temporary:
        write_text(temporary / "last/weights", "some")
    *flushed, rename, last = told_to_the_disk
    within = [".model.tmp-/last", ".model.tmp-/last/weights", ".model.tmp-"]
    assert sorted(flushed) == sorted(f"flush {one}" for one in within)
    assert rename == "rename .model.tmp- model"
    assert last == "flush ."


def test_numbers_that_are_none_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError):
        write_json(tmp_path / "record.json", {"acc": float("nan")})
    assert os.listdir(tmp_path) == []


def test_equal_values_have_one_digest_and_unequal_ones_two(tmp_path):
    assert canonical_json({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    assert sha256_json({"a": 1, "b": 2}) == sha256_json({"b": 2, "a": 1})
    assert sha256_json({"a": 1}) != sha256_json({"a": 2})
    path = tmp_path / "empty"
    path.touch()
    # The digest of nothing is public knowledge, so this is a reference from outside.
    assert sha256_file(path).startswith("e3b0c44298fc1c14")
