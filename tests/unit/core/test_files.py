"""Test atomic writes: a file is complete or absent, even if its writer fails or is killed."""

import os
import subprocess
import sys

import pytest

from tests.processes import ROOT
from workflow_scripts.core.files import (
    open_atomic_dir,
    open_atomic_path,
    write_json,
    write_text,
)


def test_failed_write(tmp_path):
    """The old file remains, and no temporary file does."""
    write_text(tmp_path / "table.csv", "old")
    with pytest.raises(RuntimeError), open_atomic_path(tmp_path / "table.csv") as temporary:
        temporary.write_text("half of the n")
        raise RuntimeError
    with pytest.raises(ValueError):
        write_json(tmp_path / "record.json", {"acc": float("nan")})
    assert (tmp_path / "table.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_atomic_dir(tmp_path):
    """A linked folder is replaced as a whole; replacing a file hard-linked into it leaves the original unchanged."""
    target, base = tmp_path / "model", tmp_path / "config.json"
    target.symlink_to(tmp_path / "disk")
    base.write_text("base")
    for name in ("first", "second"):
        with open_atomic_dir(target) as temporary:
            os.link(base, temporary / name)
            write_text(temporary / name, name)
    with pytest.raises(RuntimeError), open_atomic_dir(target) as temporary:
        (temporary / "third").write_text("third")
        raise RuntimeError
    assert os.listdir(target) == ["second"] and (target / "second").read_text() == "second"
    assert (
        sorted(os.listdir(tmp_path)) == ["config.json", "disk", "model"]
        and base.read_text() == "base"
    )


WRITER = """
import sys
from pathlib import Path
from workflow_scripts.core.files import open_atomic_path
with open_atomic_path(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    input()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_killed_writer(tmp_path, killed):
    """The next writer removes what a killed one left; one that still runs fails and does not change the target."""
    target = tmp_path / "record.json"
    write_text(target, "old")
    command = [sys.executable, "-c", WRITER, str(target)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True, cwd=ROOT) as writer:
        assert writer.stdout.readline() == "writing\n"
        if killed:
            writer.kill()
            writer.wait()
        assert target.read_text() == "old" and len(os.listdir(tmp_path)) == 2
        write_text(target, "new")
        if not killed:
            writer.communicate("\n")
    assert writer.returncode != 0
    assert target.read_text() == "new" and os.listdir(tmp_path) == ["record.json"]
