"""A model may be named by its folder, wherever one of the hub may be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.hub.fake_hub import safetensors
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, build_local_name, hub_name_problem

pytestmark = pytest.mark.usefixtures("here")

CONFIG = {"model_type": "qwen2", "num_hidden_layers": 12, "architectures": ["Qwen2ForCausalLM"]}
LEFT_OUT = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}


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
def test_a_folder_stands_wherever_a_model_may(here, source):
    save(here / "runs/seed1/checkpoint-500", **{"chat_template.jinja": b"{{ messages }}"})
    path, name = "./runs/seed1/checkpoint-500", "local/runs.seed1.checkpoint-500"
    settings = load(
        {
            "source": source,
            "harmony": {"models": [path, f"{path}@k2m4"], "tasks": ["sst2"]},
            "chunking": {
                "checkpoints": [{"model": path, "num_chunks": 2, "num_layers_per_chunk": 4}]
            },
            "mmlu": {"models": [path]},
            "prompts": {"models": [path, f"{path}@k2m4"]},
        }
    )
    assert settings.folders == {name: "runs/seed1/checkpoint-500"}
    assert settings.harmony.models == settings.prompts.models == (name, f"{name}@k2m4")
    assert settings.chunking.models == list(settings.mmlu.models) == [name]
    row = settings.model(name)
    assert (row.layers, row.parameters, row.family, row.kind) == (12, 500, "Qwen", "instruct")


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_every_path_has_a_name_that_ids_and_paths_can_hold(text):
    name = build_local_name(f"./{text}")
    assert hub_name_problem(name) is None
    assert str(CheckpointId.parse(name.replace("/", "--"))) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("./mine", "local/mine"),
        ("../runs/a--b/checkpoint_1", "local/runs.a-b.checkpoint_1"),
        ("/scratch/me/lr=1e-5, 3 epochs", "local/scratch.me.lr_1e-5_3_epochs"),
        ("./.hidden/x", "local/hidden.x"),
    ],
)
def test_names_stay_readable(path, name):
    assert build_local_name(path) == name


def get_problem(*paths):
    with pytest.raises(UserError) as raised:
        load({"source": "huggingface", "harmony": {"models": list(paths)}} | LEFT_OUT)
    (sentence,) = raised.value.problems
    return sentence


def test_two_folders_never_share_a_name(here):
    save(here / "a.b"), save(here / "a/b")
    said = "harmony.models[1] is './a/b': expected another name, since 'a.b' is local/a.b already."
    assert get_problem("./a.b", "./a/b") == said


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
def test_what_is_no_model_is_a_sentence_with_key_and_path(here, changed, sentence):
    save(here / "mine", **changed)
    problem = get_problem("./mine")
    assert problem.startswith("harmony.models[0] is './mine': no model: ") and sentence in problem


def test_a_folder_that_is_not_there_is_named():
    assert "no model: there is no folder mine" in get_problem("./mine")
    assert "harmony.models[0] is 'local/mine'" in get_problem("local/mine")
