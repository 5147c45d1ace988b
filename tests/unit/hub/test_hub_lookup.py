"""Test looking up models and tasks that no table has, from a fake hub and from lm-eval's files."""

import json

import pytest

from tests.unit.hub.fake_hub import PARAMETERS, model_files, safetensors
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.hub_lookup import look_up_model, look_up_task
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

MODEL = "acme/Rocket-1B"
TASKS = read_table(TaskRow, ROOT / "config/tasks.tsv")
LLAMA = {"model_type": "llama", "num_hidden_layers": 16}


def make_files(config=LLAMA, template=False, **more):
    tokenizer = {"chat_template": "{{ messages }}"} if template else {}
    configs = {"config.json": config, "tokenizer_config.json": tokenizer}
    return model_files() | {name: json.dumps(v).encode() for name, v in configs.items()} | more


def look_up(name=MODEL):
    return ModelRow.model_validate(look_up_model(name, {"Qwen", "Llama", "Yi"}))


def test_look_up_model(hub):
    """The row comes from the hub's metadata and the model's config, without fetching weights."""
    files = make_files(**{"consolidated.safetensors": safetensors(1_000_000)})
    hub.add("model", MODEL, [files], card={"license": 'a "licence"\tof\nmine'})
    row = look_up()
    assert (row.model, row.source, row.licence) == (MODEL, "huggingface", "a licence of mine")
    assert (row.layers, row.kind, row.revision, row.gated) == (16, "base", None, False)
    assert row.parameters == PARAMETERS and hub.count_sent() == 0


@pytest.mark.parametrize(
    ("name", "template", "base_model", "kind", "family"),
    [
        ("acme/Rocket-1B-Instruct", False, None, "base", "Rocket"),  # no chat template
        ("acme/Meta-Llama-9-1B", True, None, "base", "Llama"),  # like Qwen2.5's base models
        ("acme/qwen7-0.5b-it", True, None, "instruct", "Qwen"),
        ("acme/Yi-1B-Base", True, "acme/Yi-0", "base", "Yi"),
    ],
)
def test_look_up_kind_and_family(hub, name, template, base_model, kind, family):
    hub.add("model", name, [make_files(template=template)], card={"base_model": base_model})
    row = look_up(name)
    assert (row.kind, row.family, row.licence) == (kind, family, "not stated")


@pytest.mark.parametrize("name", ["cola", "hellaswag", "gsm8k", "truthfulqa_mc2", "nq_open"])
def test_look_up_task_agrees_with_table(name):
    by_hand, row = TASKS[name], TaskRow.model_validate(look_up_task(name))
    keys = ["dataset", "metric", "training"]
    if name != "gsm8k":  # the table has the second of lm-eval's two filters
        keys.append("filter")
    assert {key: getattr(row, key) for key in keys} == {key: getattr(by_hand, key) for key in keys}


@pytest.mark.parametrize("name", ["glue", "mmlu"])
def test_look_up_task_group(name):
    with pytest.raises(UserError, match=r"is a group of tasks; name its members"):
        look_up_task(name)
