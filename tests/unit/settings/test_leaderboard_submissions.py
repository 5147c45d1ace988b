"""Requests and flags as strangers write them: taken, or refused with a sentence, one by one."""

import pytest
import yaml

from tests.tables import cases_beside
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.flags import read_flags
from workflow_scripts.settings.leaderboard_submissions import read_requests

GOOD = {"name": "miniature/Llama-1.4M", "precision": "float32", "model_type": "pretrained"}
CHUNKED = "miniature/Qwen2-1M-Instruct@k2m12+cpt"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def read(tmp_path):
    """Write requests, each the good one with some keys changed or a text of its own, and read the folder."""

    def read(source="miniature", local=(), **files):
        for name, content in files.items():
            text = content if isinstance(content, str) else yaml.safe_dump(GOOD | content)
            (tmp_path / f"{name}.yaml").write_text(text)
        return read_requests(tmp_path, source, [CHUNKED], local)

    return read


def test_row_of_request(read):
    requests, refused, _ = read(
        a={"weight_type": "delta", "base": "miniature/Pythia-1M"},
        b={"precision": "bfloat16", "revision": COMMIT},
        c={"name": CHUNKED, "model_type": "chunked"},
        d={"precision": "8bit"},
    )
    assert not refused and requests["a.yaml"].base == "miniature/Pythia-1M"
    assert [request.row.in_path for request in requests.values()] == [
        "miniature--Llama-1.4M~float32",
        "miniature--Llama-1.4M~bfloat16~0123456789ab",
        "miniature--Qwen2-1M-Instruct@k2m12+cpt~float32",
        "miniature--Llama-1.4M~8bit",
    ]


@pytest.mark.parametrize("source", ["miniature", "huggingface"])
def test_request_for_folder(read, source):
    """It reaches no folder but those that the config names."""
    names = ("./runs/mine", "./runs/theirs", "/etc", "local/etc")
    files = {f"r{at}": {"name": name} for at, name in enumerate(names)}
    requests, refused, _ = read(source, ("local/runs.mine",), **files)
    assert [one.row.in_path for one in requests.values()] == ["local--runs.mine~float32"]
    assert len(refused) == 3
    assert all("one that suite.local_models" in reason for reason in refused.values())


@pytest.mark.parametrize(
    ("keys", "texts"),
    [
        *cases_beside(__file__, "bad_requests.txt"),
        ("name: [", ["cannot be read as YAML"]),
        ("- a\n", ["a valid dictionary"]),
        ("note: " + "x" * 30_000, ["bytes"]),
    ],
)
def test_bad_request(read, keys, texts):
    requests, refused, _ = read(bad=keys, good={})
    assert list(requests) == ["good.yaml"]
    (reason,) = refused.values()
    assert all(text in reason for text in texts), reason
    assert "AbCdEf" not in reason


@pytest.mark.parametrize(
    ("source", "readable", "aside"),
    [("miniature", "made", "of the hub"), ("huggingface", "real", "of the miniature world")],
)
def test_request_of_other_world(read, source, readable, aside):
    requests, refused, others = read(source, made={}, real={"name": "Qwen/Qwen2-0.5B"})
    assert list(requests) == [f"{readable}.yaml"] and not refused
    assert aside in "".join(others.values())


def test_hostile_file_name(tmp_path, read):
    (tmp_path / "link.yaml").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("hidden")
    _, refused, _ = read(**{"\x1b[31m": {}})
    assert "letters, digits" in refused["\ufffd[31m.yaml"]
    assert "it is a link" in refused["link.yaml"]


FLAG = {"model": "org/net", "reason": "Copied.", "link": "https://example.org/1"}


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"link": "javascript:alert(1)"},
        {"link": "http://example.org"},
        {"reason": ""},
        {"revision": "main"},
        {"modell": "x"},
    ],
    ids=str,
)
def test_flags(tmp_path, keys):
    path = tmp_path / "flags.yaml"
    path.write_text(yaml.safe_dump([FLAG, FLAG | keys]))
    if not keys:
        assert [flag.model for flag in read_flags(path)] == ["org/net"] * 2
        return
    with pytest.raises(UserError) as error:
        read_flags(path)
    (sentence,) = error.value.problems
    assert sentence.startswith(f"{path}: flags[1].{next(iter(keys))} is")
