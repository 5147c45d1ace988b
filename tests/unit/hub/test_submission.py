"""Test the check of submitted models by their small files: each reason for refusal, and accepted models."""

import json
import os
import shutil

import pytest

from workflow_scripts.hub.manifest import read_manifest, write_manifest
from workflow_scripts.hub.submission import SubmissionRules, check_submissions
from workflow_scripts.settings.leaderboard_submissions import LeaderboardRequest


def make_request(name="Pythia-0.1M", base=None, **keys) -> LeaderboardRequest:
    if base:
        keys |= {"weight_type": "delta", "base": f"miniature/{base}"}
    kinds = {"precision": "float32", "model_type": "pretrained"}
    return LeaderboardRequest(**kinds | keys | {"name": f"miniature/{name}"})


def check_all(hub, *requests, on_gpu=True, licences=("mit", "apache-2.0")) -> list[dict]:
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
    rules = SubmissionRules(8_000, licences, on_gpu)
    return list(check_submissions(submissions, rules).values())


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


def test_bad_requests_are_refused(world):
    (verdict,) = check_all(world, make_request(precision="8bit"), on_gpu=False)
    assert "precision is '8bit', and bitsandbytes needs a GPU" in verdict["reason"]
    for request in (make_request(), make_request(base="Pythia-0.1M")):
        (verdict,) = check_all(world, request, licences=["mit"])
        assert "its licence 'apache-2.0' is not among suite.open_licences" in verdict["reason"]


def edit_config(**keys):
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | keys))


MINE = {"AutoConfig": "mine.Config"}


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", lambda path: path.write_text("{"), "it does not load"),
        ("config.json", edit_config(auto_map=MINE), None),  # transformers supports its model_type
        (
            "config.json",
            edit_config(auto_map=MINE, model_type="mine"),
            "it needs trust_remote_code",
        ),
        ("config.json", edit_config(model_type="llamma"), "it does not load with the Auto classes"),
        ("config.json", edit_config(hidden_size=8192, num_hidden_layers=80), "it needs "),
        ("adapter_config.json", lambda path: path.write_text("{}"), "weight_type is 'original'"),
        ("model.safetensors", lambda path: os.truncate(path, 200_000_000), "its weights have 200,"),
        ("model.safetensors", lambda path: path.unlink(), "it holds no safetensors weights"),
    ],
)
def test_edited_model(world, tmp_path, file, change, words):
    folder = tmp_path / "models/miniature/Pythia-0.1M"
    shutil.copytree(world / "models/miniature/Pythia-0.1M", folder)
    change(folder / file)
    manifest = read_manifest(folder / "manifest.json")
    write_manifest(folder, **manifest.model_dump(exclude={"schema_version", "files"}))
    (verdict,) = check_all(tmp_path, make_request())
    assert (verdict["reason"] or "").startswith(words or "")
    assert bool(verdict["reason"]) == bool(words)
