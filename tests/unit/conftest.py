"""A small hub: the generated datasets and one of the shipped models, made once for all tests here."""

import pytest

MODEL = "Pythia-0.1M"


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    # Here, or the tests of every room would wait for these before the first of them runs.
    import torch

    from workflow_scripts.miniature.build import build_world

    torch.set_num_threads(1)  # as in a job of a test: sums of more threads end in other digits
    folder = tmp_path_factory.mktemp("hub")
    build_world(folder, items=24)
    placed(folder, MODEL)
    return folder


def placed(hub, name):
    """Place one of the shipped models in a hub folder, and return its manifest."""
    from workflow_scripts.miniature.shipped import place

    place(hub, name)
    return hub / "models/miniature" / name / "manifest.json"


@pytest.fixture(scope="session")
def model_manifest(world):
    return placed(world, MODEL)
