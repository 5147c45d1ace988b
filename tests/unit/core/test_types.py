"""What the type checker must find: a reader of records that forgets the broken ones."""

import subprocess
import sys

import pytest

from tests.processes import ROOT

FORGETS = """
from pathlib import Path
from workflow_scripts.core.records import {reader}

def names(path: Path) -> list[str]:
    found = {reader}(path)
    return [metric.name for metric in found.metrics]
"""
REMEMBERS = """
from pathlib import Path
from workflow_scripts.core.records import Record, {reader}

def names(path: Path) -> list[str]:
    found = {reader}(path)
    return [metric.name for metric in found.metrics] if isinstance(found, Record) else []
"""


@pytest.fixture(scope="module")
def found_by_mypy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    readers = ("read_record", "read_without_items")
    for reader in readers:
        (folder / f"forgets_{reader}.py").write_text(FORGETS.format(reader=reader))
        (folder / f"remembers_{reader}.py").write_text(REMEMBERS.format(reader=reader))
    command = [sys.executable, "-m", "mypy", f"--cache-dir={folder}/cache", *folder.glob("*.py")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("reader", ["read_record", "read_without_items"])
def test_a_reader_that_forgets_the_broken_record_is_an_error(reader, found_by_mypy):
    expected = f'forgets_{reader}.py:7: error: Item "Broken" of "Record | Broken" has no attribute "metrics"'
    assert expected in found_by_mypy.stdout, found_by_mypy.stderr


def test_a_reader_that_says_what_becomes_of_it_is_none(found_by_mypy):
    assert found_by_mypy.returncode == 1, found_by_mypy.stdout + found_by_mypy.stderr
    assert "remembers_" not in found_by_mypy.stdout
    assert "Found 2 errors in 2 files" in found_by_mypy.stdout
