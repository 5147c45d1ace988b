"""One Slurm for the session."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import NO_SKIPS
from tests.slurm.cluster import Cluster, what_is_missing


@pytest.fixture(scope="session")
def cluster():
    if (missing := what_is_missing()) and not NO_SKIPS:
        pytest.skip(missing)
    assert not missing, missing
    # Not below pytest's folder: munge wants one whose parents belong to root or to nobody else.
    with TemporaryDirectory(prefix="chorus-slurm-") as folder, Cluster(Path(folder)) as cluster:
        yield cluster
