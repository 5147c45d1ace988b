"""Of a model that was submitted nothing is fetched that is too large for a file beside weights."""

from tests.unit.hub.fake_hub import model_files
from workflow_scripts.hub.metadata import METADATA, fetch_metadata, read_metadata

MODEL = "acme/Rocket-1B"


def test_a_file_above_fifty_megabytes_is_listed_and_not_fetched(hub, tmp_path):
    size = 50_000_001
    hub.add("model", MODEL, [model_files() | {"hoard.json": bytes(size)}])
    fetch_metadata(MODEL, None, tmp_path)
    assert (tmp_path / "config.json").exists()
    assert not (tmp_path / "hoard.json").exists()
    assert read_metadata(tmp_path / METADATA).files["hoard.json"] == size
