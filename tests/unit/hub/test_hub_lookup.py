"""Facts of models and tasks that no table has: from a hub on this machine, and from lm-eval's own files."""

import json

import pytest

from tests.unit.hub.conftest import point_client
from tests.unit.hub.fake_hub import model_files, safetensors
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.hub_lookup import look_up_model, look_up_task
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

MODEL = "acme/Rocket-1B"
TABLE = {
    name: row
    for name, row in read_table(TaskRow, ROOT / "config/tasks.tsv").items()
    if row.harness == "lm_eval"
}
LLAMA = {"model_type": "llama", "num_hidden_layers": 16}
TEMPLATE = {"chat_template": "{{ messages }}"}


def make_files(config=LLAMA, tokenizer=None, **more):
    tokenizer_config = {"tokenizer_config.json": json.dumps(tokenizer or {}).encode()}
    return model_files() | {"config.json": json.dumps(config).encode()} | tokenizer_config | more


def look_up(name=MODEL):
    return ModelRow.model_validate(look_up_model(name, ["Qwen", "Llama", "Yi"]))


def test_look_up_model(hub):
    """Facts are the hub's and the config's; parameters of many files add up, and no weights are sent."""
    files = make_files()
    del files["model.safetensors"]
    names = [f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3)]
    files |= {name: safetensors(2_000_000 * at) for at, name in enumerate(names, start=1)}
    index = {"metadata": {}, "weight_map": {f"weight{name}": name for name in names}}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    files["consolidated.safetensors"] = safetensors(12_000_000)  # the same once more
    hub.add("model", MODEL, [files], card={"license": 'a "licence"\tof\nmine'})
    row = look_up()
    assert (row.model, row.source, row.licence) == (MODEL, "huggingface", "a licence of mine")
    assert (row.layers, row.kind, row.revision, row.gated) == (16, "base", None, False)
    assert row.parameters == 1_000_000 + 2_000_000 + 3_000_000
    assert hub.count_sent() < 600_000, "more than the heads of the files was sent"


@pytest.mark.parametrize(
    ("name", "template", "base_model", "kind", "family"),
    [
        ("acme/Rocket-1B-Instruct", False, None, "base", "Rocket"),  # it cannot be asked as a chat
        ("acme/Meta-Llama-9-1B", True, None, "base", "Llama"),  # as Qwen2.5's base models
        ("acme/qwen7-0.5b-it", True, None, "instruct", "Qwen"),
        ("acme/SmolLM2-135M", True, "acme/SmolLM2", "instruct", "SmolLM2"),
        ("acme/Yi-1B-Base", True, "acme/Yi-0", "base", "Yi"),
    ],
)
def test_look_up_kind_and_family(hub, name, template, base_model, kind, family):
    files = make_files(tokenizer=TEMPLATE if template else None)
    hub.add("model", name, [files], card={"base_model": base_model})
    row = look_up(name)
    assert (row.kind, row.family, row.licence) == (kind, family, "not stated")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"config.json": b"{}", "pytorch_model.bin": b"pickle"}, "holds no safetensors weights"),
        (make_files({"model_type": "rocket"}), "does not say how many layers it has"),
        (make_files() | {"config.json": b"<html>"}, "config.json cannot be read as JSON"),
        (make_files() | {"model.safetensors": b"version https://git-lfs"}, "cannot be had"),
    ],
)
def test_look_up_model_refused(hub, monkeypatch, files, words):
    hub.add("model", MODEL, [files])
    with pytest.raises(UserError, match=words):
        look_up()
    point_client(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(Unreachable):
        look_up()


@pytest.mark.parametrize("name", TABLE)
def test_look_up_task_agrees_with_table(name):
    by_hand, row = TABLE[name], TaskRow.model_validate(look_up_task(name))
    keys = ["dataset", "subset", "metric", "training"]
    if name != "gsm8k":  # the table prefers the second of lm-eval's two filters
        keys.append("filter")
    assert {key: getattr(row, key) for key in keys} == {key: getattr(by_hand, key) for key in keys}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_task", "lm-eval knows no task 'no_such_task'"),
        ("glue", "by hand"),  # a list of tasks without a score
        ("leaderboard", "is of 6 datasets"),
    ],
)
def test_look_up_task_refused(name, words):
    with pytest.raises(UserError, match=words):
        look_up_task(name)
