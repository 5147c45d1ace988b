"""The rule of local models, with the real Snakemake."""

import os

import pytest

from tests.unit.settings.test_folders import save
from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake
from workflow_scripts.hub.manifest import read_manifest

pytestmark = pytest.mark.workflow

MANIFEST = "resources/hub/models/local/mine/manifest.json"
# In place of rules/common.smk, as in test_hub.py.
SNAKEFILE = f"""
from types import SimpleNamespace

HUB = "resources/hub"
SETTINGS = SimpleNamespace(folders={{"local/mine": "mine"}})

def one_of(names):
    return "|".join(names)

include: "{ROOT}/rules/local_models.smk"

rule use:
    input: "{MANIFEST}"
    output: "used.txt"
    shell: "cat {{input}} > {{output}}"
"""


@pytest.mark.slow
def test_changed_file_changes_commit(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    save(tmp_path / "mine")

    def run():
        profile = ["--snakefile", "Snakefile", "--workflow-profile", f"{ROOT}/profiles/default"]
        result = run_snakemake(tmp_path, *profile, "--", "use", PYTHONPATH=str(ROOT))
        jobs = {} if "Nothing to be done" in result.stdout + result.stderr else count_jobs(result)
        return jobs, read_manifest(tmp_path / MANIFEST).commit

    first_jobs, first_commit = run()
    assert first_jobs == {"take_local_model": 1, "use": 1}
    assert run() == ({}, first_commit)
    weights = tmp_path / "mine/model.safetensors"
    old = weights.stat()
    content = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(content[:-1] + b"\x01")
    os.utime(weights, ns=(old.st_atime_ns, old.st_mtime_ns - 10**9))  # as a copy that keeps times
    second_jobs, second_commit = run()
    assert (second_jobs, second_commit != first_commit) == (first_jobs, True)
    weights.touch()  # nothing in it changed
    assert run()[1] == second_commit
