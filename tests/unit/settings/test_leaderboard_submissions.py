"""Requests and flags as strangers write them: taken, or refused with a sentence, one by one."""

from collections import namedtuple

import pytest
import yaml

from tests.tables import cases_beside
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.flags import read_flags
from workflow_scripts.settings.leaderboard_submissions import read_requests

GOOD = {"name": "miniature/Llama-1.4M", "precision": "float32", "model_type": "pretrained"}
CHUNKED = "miniature/Qwen2-1M-Instruct@k2m12+cpt"
DELTA = {"weight_type": "delta", "base": "miniature/Pythia-1M"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"

Read = namedtuple("Read", "readable refused aside")


@pytest.fixture
def put(tmp_path):
    def put(file, text=None, /, **keys):
        (tmp_path / file).write_text(text if text is not None else yaml.safe_dump(GOOD | keys))

    return put


def read(tmp_path, source="miniature", made=(CHUNKED,)):
    return Read(*read_requests(tmp_path, source, made))


def test_a_request_names_its_row_by_checkpoint_precision_and_commit(tmp_path, put):
    put("a.yaml", **DELTA)
    put("b.yaml", precision="bfloat16", revision=COMMIT)
    put("c.yaml", name=CHUNKED, model_type="chunked")
    put("d.yaml", precision="8bit")
    found = read(tmp_path)
    assert not found.refused and found.readable["a.yaml"].base == DELTA["base"]
    assert [request.row.in_path for request in found.readable.values()] == [
        "miniature--Llama-1.4M~float32",
        "miniature--Llama-1.4M~bfloat16~0123456789ab",
        "miniature--Qwen2-1M-Instruct@k2m12+cpt~float32",
        "miniature--Llama-1.4M~8bit",
    ]


def test_a_request_reaches_no_folder_but_those_that_the_config_names(tmp_path, put):
    put("a.yaml", name="./runs/mine")
    put("b.yaml", name="./runs/theirs")
    put("c.yaml", name="/etc")
    put("d.yaml", name="local/etc")
    put("e.yaml", name="./runs/mine", revision=COMMIT)
    for source in ("miniature", "huggingface"):
        found = Read(*read_requests(tmp_path, source, {}, ("local/runs.mine",)))
        assert [one.row.in_path for one in found.readable.values()] == ["local--runs.mine~float32"]
        assert list(found.refused) == ["b.yaml", "c.yaml", "d.yaml", "e.yaml"]
        said = "a folder on this machine; expected one that suite.local_models of the config names."
        assert [found.refused[f"{file}.yaml"].endswith(said) for file in "bcd"] == [True] * 3
        assert "revision is set" in found.refused["e.yaml"]


@pytest.mark.parametrize(("keys", "texts"), cases_beside(__file__, "bad_requests.txt"))
def test_what_is_wrong_is_said_and_stops_no_other(tmp_path, put, keys, texts):
    put("bad.yaml", **keys)
    put("good.yaml")
    found = read(tmp_path)
    assert list(found.readable) == ["good.yaml"]
    (reason,) = found.refused.values()
    assert all(text in reason for text in texts), reason
    assert "AbCdEf" not in reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [", "cannot be read as YAML"),
        ("- a\n", "a valid dictionary"),
        ("note: " + "x" * 30_000, "bytes"),
    ],
)
def test_a_file_that_is_no_request_is_refused(tmp_path, put, text, expected):
    put("bad.yaml", text)
    put("good.yaml")
    found = read(tmp_path)
    assert expected in found.refused["bad.yaml"] and list(found.readable) == ["good.yaml"]


def test_requests_of_the_other_world_are_left_aside_with_a_word(tmp_path, put):
    put("generated.yaml")
    put("real.yaml", name="Qwen/Qwen2-0.5B")
    for source, readable, aside in (
        ("miniature", "generated.yaml", {"real.yaml": "of the hub"}),
        ("huggingface", "real.yaml", {"generated.yaml": "of the miniature world"}),
    ):
        found = read(tmp_path, source)
        assert list(found.readable) == [readable] and not found.refused
        assert found.aside.keys() == aside.keys()
        assert all(text in found.aside[name] for name, text in aside.items())


def test_a_link_and_a_name_that_could_trick_a_terminal_are_refused(tmp_path, put):
    put("\x1b[31m.yaml")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("hidden")
    found = read(tmp_path)
    assert "letters, digits" in found.refused["\ufffd[31m.yaml"]
    assert "it is a link" in found.refused["link.yaml"]


FLAG = {"model": "org/net", "reason": "Copied.", "link": "https://example.org/1"}


def flags(tmp_path, *entries):
    (tmp_path / "flags.yaml").write_text(yaml.safe_dump(list(entries)))
    return read_flags(tmp_path / "flags.yaml")


def test_flags_are_read_and_an_empty_file_has_none(tmp_path):
    (tmp_path / "flags.yaml").write_text("# none yet\n")
    assert read_flags(tmp_path / "flags.yaml") == ()
    (flag,) = flags(tmp_path, FLAG | {"revision": COMMIT[:7]})
    assert (flag.model, flag.precision, flag.reason) == ("org/net", None, "Copied.")


@pytest.mark.parametrize(
    "keys",
    [
        {"link": "javascript:alert(1)"},
        {"link": "http://example.org"},
        {"reason": ""},
        {"revision": "main"},
        {"modell": "x"},
    ],
    ids=str,
)
def test_a_flag_that_is_wrong_is_named_with_its_file(tmp_path, keys):
    with pytest.raises(UserError) as error:
        flags(tmp_path, FLAG, FLAG | keys)
    (sentence,) = error.value.problems
    assert sentence.startswith(str(tmp_path / "flags.yaml"))
    assert f"flags[1].{next(iter(keys))} is" in sentence
