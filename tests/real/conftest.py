"""Provide the hub folder of config/first.yaml and its real model."""

from pathlib import Path

import pytest

from workflow_scripts.hub.load import load_model

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
CPU = {"device": "cpu", "dtype": "float32", "attention": "sdpa"}


@pytest.fixture(scope="session")
def hub(request):
    return Path(request.config.getoption("real_hub")).resolve()


@pytest.fixture(scope="session")
def manifest(hub):
    return hub / "models" / MODEL / "manifest.json"


@pytest.fixture(scope="session")
def loaded(manifest):
    """Load the model that all tests share; a test that changes it loads its own copy."""
    return load_model(manifest, **CPU)
