"""A small hub: the generated datasets and one untrained model, made once for all tests here."""

import pytest

from workflow_scripts.miniature.build import build_world
from workflow_scripts.miniature.train import train_model

MODEL = "Pythia-0.1M"


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    build_world(folder, seed=0, items=24)
    train_model(folder, MODEL, seed=0, effort=0.01)
    return folder


@pytest.fixture(scope="session")
def model_manifest(world):
    return world / "models/miniature" / MODEL / "manifest.json"
