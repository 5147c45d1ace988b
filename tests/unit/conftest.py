"""Build a small hub folder once per test session: the generated datasets and one shipped model."""

import pytest

MODEL = "Pythia-0.1M"


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    # Imported here, because other tests need not wait for these imports.
    import torch

    from workflow_scripts.miniature.build import build_world

    torch.set_num_threads(1)  # as in a job: other numbers of threads round sums differently
    folder = tmp_path_factory.mktemp("hub")
    build_world(folder, items=24)
    placed(folder, MODEL)
    return folder


def placed(hub, name):
    """Copy a shipped model into a hub folder, and return the path of its manifest."""
    from workflow_scripts.miniature.shipped import place

    place(hub, name)
    return hub / "models/miniature" / name / "manifest.json"


@pytest.fixture(scope="session")
def model_manifest(world):
    return placed(world, MODEL)
