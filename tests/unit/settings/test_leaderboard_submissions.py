"""Test reading leaderboard requests and flags: each is accepted, or rejected with a sentence."""

import pytest
import yaml

from tests.tables import load_cases
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.flags import read_flags
from workflow_scripts.settings.leaderboard_submissions import read_requests

GOOD = {"name": "miniature/Llama-1.4M", "precision": "float32", "model_type": "pretrained"}
CHUNKED = "miniature/Qwen2-1M-Instruct@k2m12+cpt"


@pytest.fixture
def write_request(tmp_path):
    def write(file, text=None, /, **keys):
        (tmp_path / file).write_text(text if text is not None else yaml.safe_dump(GOOD | keys))

    return write


def read(folder, source="miniature", local=()):
    return read_requests(folder, source, (CHUNKED,), local)


def test_request_folder_outside_config(tmp_path, write_request):
    write_request("a.yaml", name="./runs/mine")
    for number, name in enumerate(("./runs/theirs", "/etc", "local/etc")):
        write_request(f"b{number}.yaml", name=name)
    for source in ("miniature", "huggingface"):
        requests, refused = read(tmp_path, source, ("local/runs.mine",))
        assert [request.row for request in requests.values()] == ["local--runs.mine~float32"]
        assert [
            "expected a folder that suite.local_models" in reason for reason in refused.values()
        ] == [True] * 3


@pytest.mark.parametrize(("keys", "texts"), load_cases(__file__, "bad_requests.txt"))
def test_bad_request(tmp_path, write_request, keys, texts):
    write_request("bad.yaml", **keys)
    write_request("good.yaml")
    requests, refused = read(tmp_path)
    assert list(requests) == ["good.yaml"] and list(refused) == ["bad.yaml"]
    assert all(text in refused["bad.yaml"] for text in texts), refused
    assert "AbCdEf" not in refused["bad.yaml"]


def test_other_source_requests(tmp_path, write_request):
    write_request("generated.yaml")
    write_request("real.yaml", name="Qwen/Qwen2-0.5B")
    requests, refused = read(tmp_path)
    assert requests["generated.yaml"].row == "miniature--Llama-1.4M~float32"
    assert list(requests) == ["generated.yaml"] and list(refused) == ["real.yaml"]
    requests, refused = read(tmp_path, "huggingface")
    assert list(requests) == ["real.yaml"] and not refused


def load_flags(tmp_path, *entries):
    (tmp_path / "flags.yaml").write_text(yaml.safe_dump(list(entries)))
    return read_flags(tmp_path / "flags.yaml")


@pytest.mark.parametrize("keys", [{"link": "javascript:alert(1)"}, {"modell": "x"}], ids=str)
def test_bad_flag(tmp_path, keys):
    good = {"model": "org/net", "reason": "Copied.", "link": "https://example.org/1"}
    assert load_flags(tmp_path) == ()
    assert load_flags(tmp_path, good)[0].reason == "Copied."
    with pytest.raises(UserError) as error:
        load_flags(tmp_path, good, good | keys)
    (sentence,) = error.value.problems
    assert sentence.startswith(str(tmp_path / "flags.yaml"))
    assert f"flags[1].{next(iter(keys))} is" in sentence
