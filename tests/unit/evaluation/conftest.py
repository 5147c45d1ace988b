"""Provide the smallest shipped model that supports chunking."""

import pytest

from tests.unit.conftest import placed

CHUNKABLE = "miniature/Qwen2-0.2M"


@pytest.fixture(scope="session")
def chunkable(world):
    return placed(world, CHUNKABLE.partition("/")[2])
