"""Test the hub rules with Snakemake and the real client against a local fake hub."""

import pytest

from tests.unit.hub.fake_hub import FakeHub, model_files
from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake
from workflow_scripts.hub.manifest import read_manifest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

MODEL, DATASET = "openai-community/gpt2", "nyu-mll/glue"
MANIFESTS = [
    f"resources/hub/models/{MODEL}/manifest.json",
    f"resources/hub/datasets/{DATASET}/manifest.json",
]
# This replaces rules/common.smk, so that these tests need no settings. The rule `use` represents all jobs
# that read manifests and must not be rerun without need.
SNAKEFILE = f"""
from types import SimpleNamespace

from workflow_scripts.bridge.snakemake_contract import is_main_process

HUB = "resources/hub"
LOCK_FILE = Path("config/hub.lock.tsv")
SETTINGS = SimpleNamespace(source="huggingface", hub=SimpleNamespace(lock=str(LOCK_FILE)))

wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",

def list_hub_manifests(wildcards):
    return {MANIFESTS}

def get_model_revision(wildcards):
    return None

def estimate_download(wildcards):
    return None

def plan_resources(rule, need, gpu):
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


def test_lock_hub(hub, snake, tmp_path):
    """A lock freezes the commits in use and reruns nothing; a conflicting hub folder stops the run."""
    assert count_jobs(snake("use")) == {"fetch_model": 1, "fetch_dataset": 1, "use": 1}
    assert count_jobs(snake("lock_hub")) == {"lock_hub": 1}
    lock = tmp_path / "config" / "hub.lock.tsv"
    old = read_manifest(tmp_path / MANIFESTS[0]).commit
    assert f"model\t{MODEL}\t{old}\n" in lock.read_text()
    _, new = hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    assert "Nothing to be done" in snake("use").stderr

    lock.write_text(lock.read_text().replace(old, new))
    result = snake("use")
    assert result.returncode != 0 and f"{MANIFESTS[0]} is not of the commit" in result.stderr
    (tmp_path / MANIFESTS[0]).unlink()
    assert count_jobs(snake("use")) == {"fetch_model": 1, "use": 1}
    assert read_manifest(tmp_path / MANIFESTS[0]).commit == new
