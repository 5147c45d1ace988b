"""Provide the smallest shipped model that supports chunking."""

import pytest

CHUNKABLE = "miniature/Qwen2-0.2M"


@pytest.fixture(scope="session")
def chunkable(world):
    return world / "models" / CHUNKABLE / "manifest.json"
