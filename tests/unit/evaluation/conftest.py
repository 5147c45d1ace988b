"""The smallest of the shipped models that can be cut into chunks."""

import pytest

from tests.unit.conftest import placed

CHUNKABLE = "miniature/Qwen2-0.2M"


@pytest.fixture(scope="session")
def chunkable(world):
    return placed(world, CHUNKABLE.partition("/")[2])
