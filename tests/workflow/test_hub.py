"""The rules of the hub, with the real Snakemake and client, against a hub on this machine."""

import shutil

import pytest

from tests.unit.hub.fake_hub import FakeHub, model_files
from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.metadata import read_metadata

pytestmark = pytest.mark.workflow

MODEL, DATASET = "openai-community/gpt2", "nyu-mll/glue"
MANIFESTS = [
    f"resources/hub/models/{MODEL}/manifest.json",
    f"resources/hub/datasets/{DATASET}/manifest.json",
]
# In place of rules/common.smk, so that these tests need no settings. The rule `use` stands for all
# that is made from the manifests and must not be made again without need.
SNAKEFILE = f"""
from types import SimpleNamespace

from workflow_scripts.bridge.snakemake_contract import is_main_process

HUB = "resources/hub"
LOCK_FILE = Path("config/hub.lock.tsv")
SETTINGS = SimpleNamespace(source="huggingface", hub=SimpleNamespace(lock=str(LOCK_FILE)))

wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",

def all_hub_manifests(wildcards):
    return {MANIFESTS}

def model_revision(wildcards):
    return None

def download_need(kind):
    return None

def planned(rule, need, gpu):
    return {{"mem_mb": 1000}}

include: "{ROOT}/rules/hub.smk"

rule use:
    input: {MANIFESTS}
    output: "used.txt"
    shell: "cat {{input}} > {{output}}"
"""


@pytest.fixture
def hub():
    with FakeHub() as hub:
        hub.add("model", MODEL, [model_files(seed=1)])
        hub.add("dataset", DATASET, [{"sst2/test-00000-of-00001.parquet": b"PAR1"}])
        yield hub


@pytest.fixture
def snake(hub, tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)

    def run(target: str, *options: str):
        profile = ["--snakefile", "Snakefile", "--workflow-profile", f"{ROOT}/profiles/default"]
        environment = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT)}
        return run_snakemake(tmp_path, *profile, *options, "--", target, **environment)

    return run


def test_a_lock_freezes_what_is_used_and_reruns_nothing(hub, snake, tmp_path):
    assert jobs_of(snake("use")) == {"fetch_model": 1, "fetch_dataset": 1, "use": 1}
    assert jobs_of(snake("lock_hub")) == {"lock_hub": 1}
    lock = tmp_path / "config" / "hub.lock.tsv"
    commit = read_manifest(tmp_path / MANIFESTS[0]).commit
    assert f"model\t{MODEL}\t{commit}\n" in lock.read_text()

    hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    assert "Nothing to be done" in snake("use").stderr
    locked = lock.read_bytes()
    assert jobs_of(snake("lock_hub")) == {"lock_hub": 1}, "asked for by name it always runs"
    assert lock.read_bytes() == locked


@pytest.mark.slow
def test_a_folder_that_departs_from_the_lock_stops_the_run_until_it_is_mended(hub, snake, tmp_path):
    [old] = hub.repositories["model", MODEL].commits
    _, new = hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    jobs_of(snake("use"))
    jobs_of(snake("lock_hub"))
    lock = tmp_path / "config" / "hub.lock.tsv"
    lock.write_text(lock.read_text().replace(new, old))

    stopped = snake("use")
    assert stopped.returncode != 0 and "Traceback" not in stopped.stderr
    assert f"models/{MODEL} holds commit {new}, but" in stopped.stderr
    assert (
        f"add `--forcerun {MANIFESTS[0]}` to your command to fetch the locked one" in stopped.stderr
    )

    assert jobs_of(snake("use", "--forcerun", MANIFESTS[0])) == {"fetch_model": 1, "use": 1}
    assert read_manifest(tmp_path / MANIFESTS[0]).commit == old
    assert "Nothing to be done" in snake("use").stderr


def test_a_submitted_model_is_looked_at_without_its_weights_and_fetched_at_that_commit(
    hub, snake, tmp_path
):
    metadata = f"resources/hub/submitted/{MODEL}@default/metadata.json"
    assert jobs_of(snake(metadata)) == {"fetch_metadata": 1}
    checked = read_metadata(tmp_path / metadata).commit
    assert not list((tmp_path / metadata).parent.glob("*.safetensors"))

    hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    manifest = f"resources/hub/models/{MODEL}@{checked}/manifest.json"
    assert jobs_of(snake(manifest)) == {"fetch_model_at": 1}
    assert read_manifest(tmp_path / manifest).commit == checked
    assert not (tmp_path / MANIFESTS[0]).exists(), "the one that other studies use"


def test_a_submitted_model_that_is_not_there_stops_nothing_and_is_looked_for_again(snake, tmp_path):
    metadata = "resources/hub/submitted/acme/absent@default/metadata.json"
    assert jobs_of(snake(metadata)) == {"fetch_metadata": 1}
    with pytest.raises(UserError, match="acme/absent cannot be had"):
        read_metadata(tmp_path / metadata)
    (note,) = (tmp_path / "results/broken").glob("*.json")
    assert "cannot be had" in note.read_text()


@pytest.mark.parametrize("removed", [False, True])
def test_a_request_that_nobody_answered_about_is_asked_about_again(hub, tmp_path, removed):
    """Also where the results are gone, and only the hub has what stands in place of an answer."""
    requests, config = tmp_path / "requests", tmp_path / "mine.yaml"
    requests.mkdir()
    (requests / "one.yaml").write_text(
        f"name: {MODEL}\nprecision: float32\nmodel_type: pretrained\n"
    )
    config.write_text(f"suite: {{requests: {requests}}}\n")
    words = ("submit", "--configfile", str(ROOT / "config/paper.yaml"), str(config))

    def submit(endpoint: str):
        run = run_snakemake(tmp_path, *words, HF_ENDPOINT=endpoint, NO_PROXY="127.0.0.1")
        return jobs_of(run), run.stdout

    asks = {"fetch_metadata": 1, "check_requests": 1, "submit": 1}
    jobs, said = submit("http://127.0.0.1:9")
    assert jobs == asks and "unchecked  one.yaml" in said
    if removed:
        shutil.rmtree(tmp_path / "results")
    jobs, said = submit(hub.url)
    assert jobs == asks and "one.yaml" in said and "unchecked" not in said
    jobs, _ = submit("http://127.0.0.1:9")
    assert jobs == {"submit": 1}, "what is known stands"
