"""One run of the default config, smaller, that the tests of this folder look at and disturb."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.made_once import make_once
from tests.workflow.snakemake import SMALL, run_snakemake


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder in which everything was made, and the result of its run."""
    return make_once(tmp_path_factory, "finished", _make_everything)


def _make_everything(folder: Path) -> subprocess.CompletedProcess:
    """Make everything, with the network forbidden to every process."""
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
    """A copy of the finished folder that a test may spoil; times kept, or all would be out of date."""
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder, symlinks=True)
    return folder
