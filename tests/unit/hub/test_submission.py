"""A submitted model is checked by its small files: each reason to refuse it, and none where there is none."""

import json
import os
import shutil

import pytest

from workflow_scripts.hub.manifest import list_files, read_manifest, write_manifest
from workflow_scripts.hub.submission import Rules, check
from workflow_scripts.miniature.faulty import build_faulty_models
from workflow_scripts.settings.leaderboard_submissions import Request


def request(name="miniature/Pythia-0.1M", **keys) -> Request:
    return Request(**{"name": name, "precision": "float32", "model_type": "pretrained"} | keys)


def verdicts(hub, *requests, memory_mb=8_000, on_gpu=True):
    named = {f"{at}.yaml": one for at, one in enumerate(requests)}
    sources = {
        file: [hub / "models" / name / "manifest.json" for name in (one.name, one.base) if name]
        for file, one in named.items()
    }
    found = check(named, sources, Rules(memory_mb, ("mit", "apache-2.0"), on_gpu))
    assert list(found) == list(named)
    return list(found.values())


@pytest.fixture(scope="module")
def faulty(world):
    build_faulty_models(world)
    return world


def test_check_good_models(world, model_manifest):
    delta = {"weight_type": "delta", "base": "miniature/Pythia-0.1M"}
    commit = read_manifest(model_manifest).commit
    good, pinned, half, trained, added, again = verdicts(
        world,
        request(licence="Apache-2.0"),
        request(revision=commit, precision="8bit"),
        request(precision="float16"),
        request(protocol="train_before_test"),
        request(precision="bfloat16", **delta),
        request(note="once more"),
    )
    manifest = read_manifest(model_manifest)
    assert good == {
        "commit": manifest.commit,
        "licence": "apache-2.0",
        "parameters": manifest.parameters,
        "memory_mb": 3_001,
        "reason": None,
    }
    assert pinned["reason"] is half["reason"] is trained["reason"] is added["reason"] is None
    assert half["memory_mb"] <= good["memory_mb"] <= trained["memory_mb"]
    assert added["base_commit"] == commit
    # Both are there in float32 while they are added.
    assert added["memory_mb"] == int(3_000 + 2 * 4 * added["parameters"] / 1e6)
    assert again["reason"].startswith("it is a duplicate of 0.yaml: the same commit")


DELTA = {"weight_type": "delta"}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"name": "Pickled"}, "it holds no safetensors weights"),
        ({"name": "Closed"}, "its licence 'cc-by-nc-4.0' is not among suite.open_licences"),
        ({"name": "Own-Code"}, "it needs trust_remote_code, and code of a repository is never run"),
        ({"name": "Misspelt"}, "its configuration does not load with the Auto classes"),
        ({"name": "Colossal"}, "it needs 281,012 MB for 69,503,033,344 parameters in bfloat16"),
        ({"name": "Absent"}, "manifest.json is missing"),
        ({"base": "Closed"} | DELTA, "of its base miniature/Closed: its licence 'cc-by-nc-4.0' is"),
        (
            {"base": "Own-Code"} | DELTA,
            "of its base miniature/Own-Code: it needs trust_remote_code",
        ),
        ({"base": "Colossal"} | DELTA, "69,503,033,344, so one cannot be added to the other"),
        ({"licence": "MIT"}, "licence is 'MIT', but its card says 'apache-2.0'."),
        ({"revision": "0" * 40}, "revision is 0000"),
        ({"precision": "8bit"}, "precision is '8bit', and bitsandbytes needs a GPU"),
    ],
)
def test_check_refused(faulty, keys, words):
    names = {key: f"miniature/{keys[key]}" for key in ("name", "base") if key in keys}
    wrong, right = verdicts(
        faulty, request(**{"precision": "bfloat16"} | keys | names), request(), on_gpu=False
    )
    assert words in wrong["reason"]
    assert wrong["reason"].endswith(".") and "\n" not in wrong["reason"]
    assert right["reason"] is None, "one submission stops no other"


def add_auto_map(path):
    fields = json.loads(path.read_text()) | {"auto_map": {"AutoConfig": "mine.Config"}}
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("file", "change", "keys", "words"),
    [
        ("config.json", lambda p: p.write_text("{"), {}, "its configuration does not load"),
        ("config.json", lambda p: p.unlink(), {}, "its configuration does not load"),
        ("tokenizer.json", lambda p: p.write_text("[]"), {}, "its tokenizer does not load"),
        ("config.json", add_auto_map, {}, None),  # beside a type that transformers knows
        ("adapter_config.json", lambda p: p.write_text("{}"), {"weight_type": "adapter"}, None),
        (
            "adapter_config.json",
            lambda p: p.write_text("{}"),
            {},
            "weight_type is 'original', but it",
        ),
        (
            "model.safetensors",
            lambda p: os.truncate(p, 200_000_000),  # takes no room
            {},
            "its weights have 200,000,000 bytes; expected at most 102,085,888",
        ),
    ],
)
def test_check_edited_model(world, tmp_path, file, change, keys, words):
    """Check the good model with a file changed, as another submitter would have it."""
    folder = tmp_path / "models/miniature/Pythia-0.1M"
    shutil.copytree(world / "models/miniature/Pythia-0.1M", folder)
    change(folder / file)
    manifest = read_manifest(folder / "manifest.json")
    write_manifest(folder, manifest.model_copy(update={"files": list_files(folder)}))
    (verdict,) = verdicts(tmp_path, request(**keys))
    assert (verdict["reason"] or "").startswith(words or "")
    assert bool(verdict["reason"]) == bool(words)
