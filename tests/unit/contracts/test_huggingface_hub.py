"""Check what the package uses of huggingface_hub beyond its promises.

- http_get, http_backoff, ModelInfo made of an answer (hub/download.py, hub/remote.py): a download
  resumes where a killed process stopped; a listing is asked for patiently
"""

from huggingface_hub import ModelInfo

from tests.unit.contracts.names import assert_takes, takes


@takes(
    {
        "huggingface_hub.file_download:http_get": "url temp_file resume_size headers",
        "huggingface_hub.utils:build_hf_headers": "token",
        "huggingface_hub.utils:http_backoff": "method url retry_on_exceptions",
        "huggingface_hub.utils:hf_raise_for_status": "response",
        "huggingface_hub.errors:HfHubHTTPError": "response server_message",
        "huggingface_hub:hf_hub_url": "repo_id filename revision",
        "huggingface_hub:parse_local_safetensors_file_metadata": "path",
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_the_answer_of_the_api_becomes_a_model_info():
    """As HfApi.model_info makes it: sizes, git blobs and checksums of large files among it."""
    small = {"rfilename": "config.json", "size": 2, "blobId": "b"}
    large = {
        "rfilename": "m.safetensors",
        "size": 9,
        "blobId": "c",
        "lfs": {"size": 9, "sha256": "d", "pointerSize": 1},
    }
    info = ModelInfo(id="a/b", sha="0" * 40, siblings=[small, large], cardData={"license": "mit"})
    assert info.sha == "0" * 40
    assert info.card_data.get("license") == "mit"
    first, second = info.siblings
    assert (first.rfilename, first.size, first.blob_id, first.lfs) == ("config.json", 2, "b", None)
    assert second.lfs.sha256 == "d"
