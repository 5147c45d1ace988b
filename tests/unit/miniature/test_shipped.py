"""What the repository ships is whole, and what is placed of it is the same model in the hub's form."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.manifest import read_manifest, verify
from workflow_scripts.miniature import shipped
from workflow_scripts.miniature.catalogue import BASE_OF, MODELS, SHIPPED
from workflow_scripts.miniature.models import make_config, make_model
from workflow_scripts.miniature.specs import SPECS

SMALL = "Pythia-0.1M"


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    for name in (SMALL, *BASE_OF):
        shipped.place(folder, name)
    return folder


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The shipped folder, in a copy that a test may spoil."""
    shutil.copytree(SHIPPED, tmp_path / "shipped")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "shipped"


def test_every_model_is_there_with_the_tokenizer_it_was_trained_with():
    assert {path.parent.name for path in SHIPPED.glob("*/made.json")} == set(MODELS)
    # What a repository is cloned with by everybody stays small.
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*")) <= 16e6
    for name in MODELS:
        digests = json.loads((SHIPPED / name / "made.json").read_text())["sha256"]
        texts = [digests.pop(text, None) for text in SPECS[name].texts]
        assert all(texts)  # which are not shipped
        assert digests.pop("tokenizer.json") == sha256_file(SHIPPED / "tokenizer.json")
        assert digests == {file: sha256_file(SHIPPED / name / file) for file in digests}
        assert set(digests) == {"config.json", "model.safetensors"}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_shape_that_its_name_promises(name):
    config = json.loads((SHIPPED / name / "config.json").read_text())
    spec = SPECS[name]
    shape = (config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"])
    assert shape == (spec.hidden, spec.inner, spec.layers)


@pytest.mark.parametrize("name", [SMALL, *BASE_OF])
def test_what_is_placed_loads_and_has_the_shipped_weights_in_float32(hub, name):
    folder = hub / "models/miniature" / name
    model = AutoModelForCausalLM.from_pretrained(folder)
    weights = load_file(SHIPPED / name / "model.safetensors")
    own = model.state_dict()
    assert weights
    for key, value in weights.items():
        assert (value.dtype, own[key].dtype) == (torch.bfloat16, torch.float32)
        assert torch.equal(own[key], value.float()), key
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (
        tokenizer.decode(tokenizer("The fox")["input_ids"], skip_special_tokens=True) == "The fox"
    )
    ends = model.generation_config.eos_token_id
    assert tokenizer.eos_token_id in ([ends] if isinstance(ends, int) else ends)
    if name in BASE_OF:
        assert ends[0] == tokenizer.convert_tokens_to_ids(SPECS[name].family.end_of_turn)


def test_the_manifest_says_what_the_model_is_and_the_card_how_it_was_made(hub):
    folder = hub / "models/miniature" / SMALL
    manifest = read_manifest(folder / "manifest.json")
    assert (manifest.architecture, manifest.kind) == ("GPTNeoXForCausalLM", "model")
    assert manifest.parameters == AutoModelForCausalLM.from_pretrained(folder).num_parameters()
    assert verify(folder, manifest) == []
    assert (SHIPPED / SMALL / "made.json").read_text() in (folder / "README.md").read_text()


def test_placed_twice_the_same_bytes(hub, tmp_path):
    shipped.place(tmp_path, SMALL)
    first, second = (folder / "models/miniature" / SMALL for folder in (hub, tmp_path))
    assert sorted(path.name for path in first.iterdir()) == sorted(p.name for p in second.iterdir())
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


MISSING = r"is missing; check it out of the repository again\."


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "../tokenizer.json", "made.json"]
)
def test_a_damaged_or_missing_file_is_named(copied, tmp_path, file):
    path = (copied / SMALL / file).resolve()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    for damage, said in (
        (lambda: path.write_bytes(content), "is damaged, or of another training"),
        (path.unlink, MISSING),
    ):
        if file == "made.json" and said != MISSING:
            continue  # which says of the others what they are
        damage()
        with pytest.raises(UserError, match=said) as error:
            shipped.place(tmp_path / "hub", SMALL)
        assert str(error.value).startswith(str(path))
        assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"sha256": 1}'])
def test_notes_that_say_nothing_are_named(copied, tmp_path, text):
    (copied / SMALL / "made.json").write_text(text)
    with pytest.raises(UserError, match=r"made\.json does not say how its model was made"):
        shipped.place(tmp_path / "hub", SMALL)


def test_a_placing_that_is_stopped_leaves_nothing(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(shipped, "finish_model", stop)
    with pytest.raises(KeyboardInterrupt):
        shipped.place(tmp_path, SMALL)
    assert list((tmp_path / "models/miniature").iterdir()) == []


def test_what_is_written_can_be_placed_and_the_model_goes_on_in_its_own_precision(copied, tmp_path):
    (copied / "corpus.parquet").write_bytes(b"texts")
    model = make_model(make_config(SPECS[SMALL], bos=0, eos=0, pad=0))
    shipped.write(copied / SMALL, model, [copied / "corpus.parquet"], {"steps": 3})
    assert model.dtype == torch.float32
    made = json.loads((copied / SMALL / "made.json").read_text())
    assert made["steps"] == 3
    assert made["versions"].keys() == {"torch", "transformers"}
    assert made["sha256"]["corpus.parquet"] == sha256_file(copied / "corpus.parquet")
    files = {path.name for path in (copied / SMALL).iterdir()}
    assert files == {"config.json", "model.safetensors", "made.json"}
    shipped.place(tmp_path / "hub", SMALL)
    placed = AutoModelForCausalLM.from_pretrained(tmp_path / "hub/models/miniature" / SMALL)
    for key, value in model.state_dict().items():
        assert torch.equal(placed.state_dict()[key], value.bfloat16().float()), key
