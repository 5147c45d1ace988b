"""Test the check of submitted models by their small files: each reason for refusal, and accepted models."""

import json
import os
import shutil

import pytest

from workflow_scripts.hub.manifest import read_manifest, seal
from workflow_scripts.hub.submission import Rules, check
from workflow_scripts.settings.leaderboard_submissions import Request


def make_request(name="Pythia-0.1M", base=None, **keys) -> Request:
    if base:
        keys |= {"weight_type": "delta", "base": f"miniature/{base}"}
    kinds = {"precision": "float32", "model_type": "pretrained"}
    return Request(**kinds | keys | {"name": f"miniature/{name}"})


def check_all(hub, *requests, on_gpu=True) -> list[dict]:
    submissions = {
        str(number): {
            "request": request.model_dump(),
            "sources": [
                hub / "models" / name / "manifest.json"
                for name in (request.name, request.base)
                if name
            ],
        }
        for number, request in enumerate(requests)
    }
    rules = Rules(8_000, ("mit", "apache-2.0"), on_gpu)
    return list(check(submissions, rules).values())


def test_good_requests_are_accepted(world, model_manifest):
    manifest = read_manifest(model_manifest)
    *accepted, again = check_all(
        world,
        make_request(),
        make_request(revision=manifest.commit, precision="8bit"),
        make_request(base="Pythia-0.1M", precision="bfloat16"),
        make_request(note="once more"),
    )
    good, _, delta = accepted
    assert [verdict["reason"] for verdict in accepted] == [None] * 3
    assert (good["commit"], good["parameters"]) == (manifest.commit, manifest.parameters)
    assert good["memory_mb"] == 3_001
    assert delta["base_commit"] == manifest.commit
    # Delta and base are in memory in float32 while they are added.
    assert delta["memory_mb"] == int(3_000 + 2 * 4 * delta["parameters"] / 1e6)
    assert again["reason"].startswith("it is a duplicate of 0: the same commit")


REFUSED = [
    ({"name": "Pickled"}, "it holds no safetensors weights"),
    ({"name": "Closed"}, "its licence 'cc-by-nc-4.0' is not among suite.open_licences"),
    ({"name": "Own-Code"}, "it needs trust_remote_code"),
    ({"name": "Misspelt"}, "it does not load with the Auto classes"),
    ({"name": "Colossal"}, "it needs 281,012 MB for 69,503,033,344 parameters in bfloat16"),
    ({"base": "Closed"}, "its base miniature/Closed: its licence 'cc-by-nc-4.0'"),
    ({"precision": "8bit"}, "precision is '8bit', and bitsandbytes needs a GPU"),
]


def test_bad_requests_are_refused(world):
    requests = [make_request(**{"precision": "bfloat16"} | keys) for keys, _ in REFUSED]
    *verdicts, good = check_all(world, *requests, make_request(), on_gpu=False)
    assert good["reason"] is None
    for verdict, (_, words) in zip(verdicts, REFUSED, strict=True):
        assert words in verdict["reason"] and "\n" not in verdict["reason"]


def add_auto_map(path):
    fields = json.loads(path.read_text()) | {"auto_map": {"AutoConfig": "mine.Config"}}
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", lambda path: path.write_text("{"), "it does not load"),
        ("config.json", add_auto_map, None),  # transformers supports its model_type
        ("adapter_config.json", lambda path: path.write_text("{}"), "weight_type is 'original'"),
        ("model.safetensors", lambda path: os.truncate(path, 200_000_000), "its weights have 200,"),
    ],
)
def test_edited_model(world, tmp_path, file, change, words):
    folder = tmp_path / "models/miniature/Pythia-0.1M"
    shutil.copytree(world / "models/miniature/Pythia-0.1M", folder)
    change(folder / file)
    manifest = read_manifest(folder / "manifest.json")
    seal(folder, **manifest.model_dump(exclude={"schema_version", "files"}))
    (verdict,) = check_all(tmp_path, make_request())
    assert (verdict["reason"] or "").startswith(words or "")
    assert bool(verdict["reason"]) == bool(words)
