"""Run a smaller default config once; the tests of this folder inspect it or modify copies of it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.made_once import make_once
from tests.workflow.snakemake import SMALL, run_snakemake


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return the working directory of a finished run, and the result of its process."""
    return make_once(tmp_path_factory, "finished", _make_everything)


def _make_everything(folder: Path) -> subprocess.CompletedProcess:
    """Run the default target with the network blocked in every process."""
    report = folder / "network.txt"
    result = run_snakemake(
        folder,
        *SMALL,
        PYTHONPATH=str(Path(__file__).parent / "forbid_network"),
        CHORUS_NETWORK_REPORT=str(report),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not report.exists(), report.read_text()
    return result


@pytest.fixture
def copy(finished, tmp_path):
    """Return a copy of the finished folder; it keeps modification times, so that nothing is out of date."""
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder, symlinks=True)
    return folder
