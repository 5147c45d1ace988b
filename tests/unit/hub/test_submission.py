"""A submitted model is checked by its small files: each reason to refuse it, and none where there is none."""

import json
import os
import shutil

import pytest

from workflow_scripts.hub.manifest import content_commit, list_files, read_manifest, write_manifest
from workflow_scripts.hub.submission import Rules, check
from workflow_scripts.miniature.catalogue import FAULTY
from workflow_scripts.miniature.faulty import build_faulty_models
from workflow_scripts.settings.requests import Request


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


@pytest.fixture
def edited(world, tmp_path):
    """The good model with a file changed, as another submitter would have it."""

    def edit(name: str, change) -> None:
        folder = tmp_path / "models/miniature/Pythia-0.1M"
        shutil.copytree(world / "models/miniature/Pythia-0.1M", folder, dirs_exist_ok=True)
        change(folder / name)
        files = list_files(folder)
        manifest = read_manifest(folder / "manifest.json")
        manifest = manifest.model_copy(update={"files": files, "commit": content_commit(files)})
        write_manifest(folder, manifest)

    return edit


def test_a_model_that_is_as_it_should_be_is_taken_with_what_is_known_of_it(world, model_manifest):
    (found,) = verdicts(world, request(licence="Apache-2.0"))
    manifest = read_manifest(model_manifest)
    assert found == {
        "commit": manifest.commit,
        "licence": "apache-2.0",
        "parameters": manifest.parameters,
        "memory_mb": 3_001,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "Pickled": "it holds no safetensors weights",
        "Closed": "its licence 'cc-by-nc-4.0' is not among suite.open_licences",
        "Own-Code": "it needs trust_remote_code, and code of a repository is never run",
        "Misspelt": "its configuration does not load with the Auto classes",
        "Colossal": "it needs 281,012 MB for 69,503,033,344 parameters in bfloat16",
    }.items(),
)
def test_each_reason_is_the_only_one_and_a_sentence(faulty, name, said):
    (found,) = verdicts(faulty, request(f"miniature/{name}", precision="bfloat16"))
    assert found["reason"].startswith(said)
    assert found["reason"].endswith(".") and found["reason"].count(". ") == 0
    assert "\n" not in found["reason"]


def test_a_delta_is_taken_with_the_commit_of_its_base(world, model_manifest):
    delta = {"weight_type": "delta", "base": "miniature/Pythia-0.1M"}
    (found,) = verdicts(world, request(precision="bfloat16", **delta))
    base = read_manifest(world / "models/miniature/Pythia-0.1M/manifest.json")
    assert (found["reason"], found["base_commit"]) == (None, base.commit)
    # Both are there in float32 while they are added.
    assert found["memory_mb"] == int(3_000 + 2 * 4 * found["parameters"] / 1e6)


@pytest.mark.parametrize(
    ("base", "said"),
    {
        "Closed": "of its base miniature/Closed: its licence 'cc-by-nc-4.0' is not among",
        "Pickled": "of its base miniature/Pickled: it holds no safetensors weights",
        "Own-Code": "of its base miniature/Own-Code: it needs trust_remote_code",
        "Colossal": "69,503,033,344, so one cannot be added to the other",
    }.items(),
)
def test_a_base_is_checked_like_what_is_submitted(faulty, base, said):
    (found,) = verdicts(faulty, request(weight_type="delta", base=f"miniature/{base}"))
    assert said in found["reason"]


def test_a_precision_that_needs_a_gpu_is_refused_where_the_config_has_none(world):
    (on_gpu,) = verdicts(world, request(precision="8bit"))
    assert on_gpu["reason"] is None
    (refused,) = verdicts(world, request(precision="8bit"), on_gpu=False)
    assert refused["reason"].startswith("precision is '8bit', and bitsandbytes needs a GPU")


def test_every_faulty_model_of_the_miniature_world_is_refused(faulty):
    found = verdicts(faulty, *(request(f"miniature/{name}") for name in FAULTY))
    assert all(one["reason"] for one in found)


def test_a_duplicate_is_refused_and_another_precision_or_protocol_is_none(faulty):
    one, half, trained, again = verdicts(
        faulty,
        request(),
        request(precision="bfloat16"),
        request(protocol="train_before_test"),
        request(note="once more"),
    )
    assert not one["reason"] and not half["reason"] and not trained["reason"]
    assert again["reason"].startswith("it is a duplicate of 0.yaml: the same commit")


def test_a_request_that_was_refused_makes_no_other_a_duplicate(faulty):
    wrong, right = verdicts(faulty, request(licence="MIT"), request())
    assert wrong["reason"] == "licence is 'MIT', but its card says 'apache-2.0'."
    assert right["reason"] is None


def test_another_commit_than_the_one_asked_for_is_refused(world, model_manifest):
    commit = read_manifest(model_manifest).commit
    (found,) = verdicts(world, request(revision=commit))
    assert found["reason"] is None
    (found,) = verdicts(world, request(revision="0" * 40))
    assert f"the hub folder holds commit {commit}" in found["reason"]


def test_the_memory_planned_depends_on_precision_and_protocol(world):
    full, half, trained = verdicts(
        world,
        *(request(), request(precision="float16"), request(protocol="train_before_test")),
        memory_mb=3_000,
    )
    assert half["memory_mb"] <= full["memory_mb"] <= trained["memory_mb"]
    assert "suite.memory_mb plans 3,000" in full["reason"]


def test_an_adapter_is_asked_for_as_one(edited, tmp_path):
    edited("adapter_config.json", lambda path: path.write_text("{}"))
    whole, adapter = verdicts(tmp_path, request(), request(weight_type="adapter"))
    assert whole["reason"] == "weight_type is 'original', but it holds adapter_config.json."
    assert adapter["reason"] is None


def test_weights_that_nobody_could_load_are_not_fetched(edited, tmp_path):
    edited("model.safetensors", lambda path: os.truncate(path, 200_000_000))  # takes no room
    (found,) = verdicts(tmp_path, request())
    assert found["reason"] == (
        "its weights have 200,000,000 bytes; expected at most 102,085,888 for 130,368 parameters."
    )


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("config.json", lambda p: p.write_text("{"), "its configuration does not load"),
        ("config.json", lambda p: p.unlink(), "its configuration does not load"),
        ("tokenizer.json", lambda p: p.write_text("[]"), "its tokenizer does not load"),
    ],
)
def test_files_that_are_broken_are_an_answer_and_no_crash(edited, tmp_path, file, change, said):
    edited(file, change)
    (found,) = verdicts(tmp_path, request())
    assert found["reason"].startswith(said)


def test_an_auto_map_beside_a_type_that_transformers_knows_is_harmless(edited, tmp_path):
    def add(path):
        config = json.loads(path.read_text())
        path.write_text(json.dumps(config | {"auto_map": {"AutoConfig": "mine.Config"}}))

    edited("config.json", add)
    (found,) = verdicts(tmp_path, request())
    assert found["reason"] is None


def test_a_model_that_is_not_there_refuses_its_request_alone(world, tmp_path):
    absent, there = verdicts(world, request("miniature/Absent"), request())
    assert "is missing" in absent["reason"]
    assert there["reason"] is None
