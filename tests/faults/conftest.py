"""The finished grid, in a copy that a test may spoil."""

import shutil

import pytest


@pytest.fixture
def copied(finished_grid, tmp_path):
    return shutil.copytree(finished_grid, tmp_path / "copy", symlinks=True)
