"""The rules of the hub, with the real Snakemake and client, against a hub on this machine."""

import pytest

from tests.unit.hub.fake_hub import FakeHub, model_files
from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake
from workflow_scripts.hub.manifest import read_manifest

pytestmark = pytest.mark.workflow

MODEL, DATASET = "openai-community/gpt2", "nyu-mll/glue"
MANIFESTS = [
    f"resources/hub/models/{MODEL}/manifest.json",
    f"resources/hub/datasets/{DATASET}/manifest.json",
]
CONFIG = f"""
source: huggingface
harmony: {{models: [{MODEL}], tasks: [sst2]}}
tables: {{models: {ROOT}/config/models.tsv, tasks: {ROOT}/config/tasks.tsv}}
"""
# Something that is made from the manifests and must not be made again without need.
SNAKEFILE = f"""
include: "{ROOT}/Snakefile"
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
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "Snakefile").write_text(SNAKEFILE)

    def run(target: str):
        options = ["--snakefile", "Snakefile", "--workflow-profile", f"{ROOT}/profiles/default"]
        options += ["--configfile", "config.yaml", "--", target]
        return run_snakemake(tmp_path, *options, HF_ENDPOINT=hub.url, NO_PROXY="127.0.0.1")

    return run


def test_a_lock_freezes_what_is_used_and_reruns_nothing(hub, snake, tmp_path):
    assert jobs_of(snake("use")) == {"fetch_model": 1, "fetch_dataset": 1, "use": 1}
    assert jobs_of(snake("lock_hub")) == {"lock_hub": 1}
    lock = tmp_path / "config" / "hub.lock.tsv"
    first = read_manifest(tmp_path / MANIFESTS[0])
    assert f"model\t{MODEL}\t{first.commit}\n" in lock.read_text()

    hub.add("model", MODEL, [model_files(seed=1), model_files(seed=2)])
    assert "Nothing to be done" in snake("use").stderr
    locked = lock.read_bytes()
    assert jobs_of(snake("lock_hub")) == {"lock_hub": 1}, "asked for by name it always runs"
    assert lock.read_bytes() == locked

    (tmp_path / MANIFESTS[0]).unlink()
    assert jobs_of(snake("use")) == {"fetch_model": 1, "use": 1}
    assert read_manifest(tmp_path / MANIFESTS[0]) == first


def test_a_folder_that_departs_from_the_lock_stops_the_run(snake, tmp_path):
    jobs_of(snake("use"))
    jobs_of(snake("lock_hub"))
    lock = tmp_path / "config" / "hub.lock.tsv"
    commit = read_manifest(tmp_path / MANIFESTS[0]).commit
    lock.write_text(lock.read_text().replace(commit, "0" * 40))
    stopped = snake("use")
    assert stopped.returncode != 0 and "Traceback" not in stopped.stderr
    assert f"models/{MODEL} holds commit {commit}, but" in stopped.stderr
    assert f"delete {MANIFESTS[0]} to fetch the locked one" in stopped.stderr
