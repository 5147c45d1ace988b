"""A folder on this machine becomes a model of the hub folder, at the digest of its files."""

import json
import os

import pytest
import torch

from tests.tiny_models import tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.settings.test_folders import save
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.local import changed_since, take_folder
from workflow_scripts.hub.lock import read_lock, write_lock
from workflow_scripts.hub.manifest import MANIFEST, read_manifest, verify

NAME = "local/mine"


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "mine", **{"README.md": b"---\nlicense: mit\ntags: [x]\n---\n# Mine\n"})
    return tmp_path / "mine"


@pytest.fixture
def target(tmp_path):
    return tmp_path / f"hub/models/{NAME}"


def test_safetensors_and_small_files_are_taken_and_neither_code_nor_pickles(folder, target):
    manifest = take_folder(folder, NAME, target)
    assert manifest == read_manifest(target / MANIFEST)
    assert {file.path: file.sha256 for file in manifest.files} == {
        name: sha256_file(folder / name)
        for name in ("README.md", "config.json", "model.safetensors", "tokenizer.json")
    }
    assert (manifest.source, manifest.repository, manifest.licence) == ("local", NAME, "mit")
    assert (manifest.parameters, manifest.architecture) == (500, "Qwen2ForCausalLM")
    assert sorted(os.listdir(target)) == sorted([*(f.path for f in manifest.files), MANIFEST])


def test_the_same_bytes_are_the_same_commit_and_others_another(folder, target):
    before = take_folder(folder, NAME, target).commit
    assert take_folder(folder, NAME, target).commit == before
    (folder / "generation_config.json").write_bytes(b'{"top_k": 1}')
    more = take_folder(folder, NAME, target)
    (folder / "generation_config.json").unlink()
    assert more.commit != before
    assert take_folder(folder, NAME, target).commit == before
    assert not (target / "generation_config.json").exists()


def test_a_card_without_a_licence_names_none(folder, target):
    for card in (b"# Mine\n", b"---\nlicense: [\n---\n", b"---\n- a\n---\n", b"\xff\n"):
        (folder / "README.md").write_bytes(card)
        assert take_folder(folder, NAME, target).licence is None


def test_weights_that_are_written_again_meanwhile_are_not_loaded(folder, target):
    """A link shows what the next saving writes into the file, under the commit of before."""
    manifest = take_folder(folder, NAME, target)
    assert not changed_since(target, manifest)
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    with weights.open("r+b") as file:  # the same file, of the same size
        file.write(content[:-1] + b"\x00")
    later = (target / MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(weights, ns=(later, later))
    assert verify(target, manifest), "no link was made, and the test shows nothing"
    with pytest.raises(UserError, match="was written again after it was taken"):
        load_model(target / MANIFEST, device="cpu", dtype="float32", attention="auto")


def test_no_lock_holds_a_folder(folder, target, tmp_path):
    write_lock(tmp_path / "lock.tsv", [take_folder(folder, NAME, target)])
    assert read_lock(tmp_path / "lock.tsv") == {}


def test_a_model_that_was_saved_by_transformers_gives_its_own_answers(tmp_path, target):
    model = tiny_model("llama")
    model.save_pretrained(tmp_path / "saved")
    smallest_tokenizer().save_pretrained(tmp_path / "saved")
    manifest = take_folder(tmp_path / "saved", NAME, target)
    assert manifest.parameters == model.num_parameters()
    loaded = load_model(target / MANIFEST, device="cpu", dtype="float32", attention="auto")
    ids = torch.tensor([[3, 1, 4, 1, 5, 9]])
    assert torch.equal(loaded.model(ids).logits, model(ids).logits)
    assert json.loads((target / "config.json").read_text())["num_hidden_layers"] == 3
