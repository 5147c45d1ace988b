"""A fake hub, and the real client of this process pointed at it."""

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _http

from tests.unit.hub.fake_hub import FakeHub


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """huggingface_hub reads its environment when imported; these are the constants it then sets."""
    with FakeHub() as hub:
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for name, value in {
            "ENDPOINT": hub.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": template,
            "HF_TOKEN_PATH": str(tmp_path / "no-token"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_TELEMETRY": True,
            # Broken transfers go on in steps of this size; 10 MB would need large files here.
            "DOWNLOAD_CHUNK_SIZE": 65536,
        }.items():
            monkeypatch.setattr(constants, name, value)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        _http.close_session()
        yield hub
        _http.close_session()
