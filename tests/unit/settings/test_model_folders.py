"""Test that a config may name a local model folder wherever it may name a hub model."""

import json

import pytest

from tests.unit.hub.fake_hub import safetensors
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import build_checkpoint_name

pytestmark = pytest.mark.usefixtures("here")

CONFIG = {"model_type": "qwen2", "num_hidden_layers": 12, "architectures": ["Qwen2ForCausalLM"]}
PATH, NAME = "./runs/seed1/checkpoint-500", "local/runs.seed1.checkpoint-500"


def save(folder, **changed):
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors": safetensors(1_000),
        "tokenizer.json": b"{}",
        "chat_template.jinja": b"{{ messages }}",
    }
    folder.mkdir(parents=True)
    for name, content in (files | changed).items():
        if content is not None:
            (folder / name).write_bytes(content)


def test_folder_link(here):
    save(here / PATH)
    (here / "mine").symlink_to(PATH)
    assert load({"harmony": {"models": ["./mine"]}}).folders == {"local/mine": "mine"}
    assert build_checkpoint_name("./mine@k2m6+cpt") == "local/mine@k2m6+cpt"


def test_folder_model(here):
    save(here / PATH)
    checkpoint = {"model": PATH, "num_chunks": 2, "num_layers_per_chunk": 4}
    harmony = {"models": [PATH, f"{PATH}@k2m4"]}
    settings = load({"harmony": harmony, "chunking": {"checkpoints": [checkpoint]}})
    assert settings.folders == {NAME: "runs/seed1/checkpoint-500"}
    assert settings.harmony.models == (NAME, f"{NAME}@k2m4")
    row = settings.models[NAME]
    assert (row.layers, row.parameters, row.family, row.kind) == (12, 500, "Qwen", "instruct")


def test_two_folders_same_name(here):
    save(here / "a.b"), save(here / "a/b")
    with pytest.raises(UserError, match="expected another name"):
        load({"harmony": {"models": ["./a.b", "./a/b"]}})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"config.json": None}, "holds no config.json"),
        ({"config.json": b"[]"}, "holds no JSON object"),
        ({"config.json": b"{}"}, "has no number of layers"),
        ({"model.safetensors": None, "model.bin": b"pickle"}, "save it as safetensors"),
        ({"model.safetensors": b"git-lfs pointer"}, "is not a safetensors file"),
        ({"tokenizer.json": None}, "holds no tokenizer"),
    ],
)
def test_folder_without_model(here, changed, sentence):
    save(here / "mine", **changed)
    with pytest.raises(
        UserError, match=rf"models\[0\] is './mine': not a model folder: .*{sentence}"
    ):
        load({"harmony": {"models": ["./mine"]}})
