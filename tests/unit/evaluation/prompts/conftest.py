"""Provide a small model with a chat template, and the prompt runs of the repository."""

import pytest

from workflow_scripts.evaluation.prompts.rendering import Renderer
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.prompts.files import find_runs, read_run


@pytest.fixture(scope="session")
def chat_manifest(world):
    return world / "models/miniature/Llama-0.3M/manifest.json"


@pytest.fixture(scope="session")
def loaded(chat_manifest):
    return load_model(chat_manifest, device="cpu", dtype="float32", attention="auto")


@pytest.fixture(scope="session")
def runs():
    files = find_runs("config/prompts")
    return {name: read_run(files, name) for name in files}


@pytest.fixture(scope="session")
def renderer(world, loaded):
    def make(run) -> Renderer:
        return Renderer(run, loaded.tokenizer, loaded.model.config, world)

    return make


def change_run(run, **keys):
    """Change keys of a prompt run and validate it; mappings are merged key by key."""
    dumped = run.model_dump(mode="json")
    for key, value in keys.items():
        both = isinstance(value, dict) and isinstance(dumped[key], dict)
        dumped[key] = dumped[key] | value if both else value
    return type(run).model_validate(dumped)
