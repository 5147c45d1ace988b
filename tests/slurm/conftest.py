"""Start one Slurm cluster per test session."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import NO_SKIPS
from tests.slurm.cluster import Cluster, find_missing_requirement


@pytest.fixture(scope="session")
def cluster():
    if (missing := find_missing_requirement()) and not NO_SKIPS:
        pytest.skip(missing)
    assert not missing, missing
    # Not below pytest's folder, because munge requires parent folders owned by root or by its user.
    with TemporaryDirectory(prefix="chorus-slurm-") as folder, Cluster(Path(folder)) as cluster:
        yield cluster
