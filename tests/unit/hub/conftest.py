"""Provide a fake hub, and point this process's huggingface_hub client at it."""

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _http

from tests.unit.hub.fake_hub import FakeHub


def point_client(monkeypatch, url: str) -> None:
    """Set the constants that huggingface_hub reads from the environment on import."""
    template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with FakeHub() as hub:
        point_client(monkeypatch, hub.url)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        _http.close_session()
        yield hub
        _http.close_session()
