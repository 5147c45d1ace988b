"""A model may be named by its folder, wherever one of the hub may be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.hub.fake_hub import safetensors
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, build_local_name, describe_hub_name_problem

pytestmark = pytest.mark.usefixtures("here")

CONFIG = {"model_type": "qwen2", "num_hidden_layers": 12, "architectures": ["Qwen2ForCausalLM"]}


def save(folder, **changed):
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors": safetensors(1_000),
        "tokenizer.json": b"{}",
        "optimizer.pt": b"pickle",
        "modeling_mine.py": b"raise SystemExit",
    }
    folder.mkdir(parents=True)
    for name, content in (files | changed).items():
        if content is not None:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("source", ["huggingface", "miniature"])
def test_folder_model(here, source):
    save(here / "runs/seed1/checkpoint-500", **{"chat_template.jinja": b"{{ messages }}"})
    path, name = "./runs/seed1/checkpoint-500", "local/runs.seed1.checkpoint-500"
    checkpoint = {"model": path, "num_chunks": 2, "num_layers_per_chunk": 4}
    settings = load(
        {
            "source": source,
            "harmony": {"models": [path, f"{path}@k2m4"], "tasks": ["sst2"]},
            "chunking": {"checkpoints": [checkpoint]},
            "prompts": {"models": []},
        }
    )
    assert settings.folders == {name: "runs/seed1/checkpoint-500"}
    assert settings.harmony.models == (name, f"{name}@k2m4")
    row = settings.model(name)
    assert (row.layers, row.parameters, row.family, row.kind) == (12, 500, "Qwen", "instruct")


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_build_local_name(text):
    name = build_local_name(f"./{text}")
    assert describe_hub_name_problem(name) is None
    assert str(CheckpointId.parse(name.replace("/", "--"))) == name
    long = build_local_name("/scratch/me/a--b/lr=1e-5, 3 epochs")
    assert long == "local/scratch.me.a-b.lr_1e-5_3_epochs"


def test_two_folders_same_name(here):
    save(here / "a.b"), save(here / "a/b")
    with pytest.raises(UserError, match="expected another name"):
        load({"harmony": {"models": ["./a.b", "./a/b"]}})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"config.json": None}, "holds no config.json"),
        ({"config.json": b"[]"}, "holds no JSON object"),
        ({"config.json": b"{}"}, "does not say how many layers"),
        ({"model.safetensors": None, "model.bin": b"pickle"}, "save it as safetensors"),
        ({"model.safetensors": b"git-lfs pointer"}, "is not a safetensors file"),
        ({"tokenizer.json": None}, "holds no tokenizer"),
    ],
)
def test_folder_without_model(here, changed, sentence):
    save(here / "mine", **changed)
    with pytest.raises(UserError) as error:
        load({"harmony": {"models": ["./mine"]}})
    (problem,) = error.value.problems
    assert problem.startswith("harmony.models[0] is './mine': no model: ") and sentence in problem
