"""Build the demo's hub folder once per test session."""

import pytest

MODEL = "Pythia-0.1M"


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    # Imported here, because other tests need not wait for these imports.
    import torch

    from workflow_scripts.miniature.build_world import build_world

    torch.set_num_threads(1)  # as in a job: other numbers of threads round sums differently
    folder = tmp_path_factory.mktemp("hub")
    build_world(folder, items=24)
    return folder


@pytest.fixture(scope="session")
def model_manifest(world):
    return world / "models/miniature" / MODEL / "manifest.json"
