"""A fake hub, and the real client of this process pointed at it."""

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _http

from tests.unit.hub.fake_hub import FakeHub


@pytest.fixture
def hub():
    with FakeHub() as hub:
        yield hub


@pytest.fixture
def client(hub, monkeypatch, tmp_path):
    """huggingface_hub reads its environment when imported; these are the constants it then sets."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    # Broken transfers go on in steps of this size; 10 MB would need large files here.
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 65536)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    _http.close_session()
    yield
    _http.close_session()
