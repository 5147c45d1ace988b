"""Test the list of pending jobs and their resources."""

from tests.processes import ROOT
from workflow_scripts.bridge.job_list import list_jobs

SNAKEFILE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from workflow_scripts.bridge.resources import build_resources
from workflow_scripts.planning.estimates import JobEstimate
from workflow_scripts.settings.cluster import Cluster
rule all:
    input: expand("{{name}}.txt", name=config["names"])
rule one:
    output: "{{name}}.txt"
    threads: 64
    resources: **build_resources("one", lambda **wildcards: JobEstimate(60, 1_000, gpus=2), Cluster(), "gpus")
    shell: "touch {{output}}"
"""


def test_list_jobs(here):
    """Each pending job is listed once, and no job runs."""
    (here / "Snakefile").write_text(SNAKEFILE)
    (here / "done.txt").touch()
    (job,), has_unchecked_rows = list_jobs(here / "Snakefile", {"names": ["a", "done"]})
    assert not has_unchecked_rows and not (here / "a.txt").exists()
    assert (job["rule"], job["wildcards"], job["threads"]) == ("one", {"name": "a"}, 64)
    assert (job["seconds"], job["minutes"], job["gpus"]) == (60, 12, 2)
