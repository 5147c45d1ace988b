"""The jobs that are to run, with what they need."""

from dataclasses import dataclass

import pytest

from tests.processes import ROOT
from workflow_scripts.bridge.job_list import list_jobs
from workflow_scripts.core.errors import UserError

SNAKEFILE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.unit.bridge.test_job_list import Need
from workflow_scripts.bridge.resources import resources
rule all:
    input: expand("{{name}}.txt", name=config["names"])
rule one:
    output: "{{name}}.txt"
    threads: 64
    resources: **resources("one", lambda wildcards: Need(len(wildcards.name), 2), None, "gpus")
    shell: "touch {{output}}"
"""


@dataclass
class Need:
    seconds: int
    gpus: int

    def time_limit_minutes(self, attempt, cluster):
        return 10 * attempt

    def memory_limit_mb(self, attempt, cluster):
        return 1_000 * attempt


def test_each_job_that_is_to_run_is_listed_once_and_none_is_run(here):
    (here / "Snakefile").write_text(SNAKEFILE)
    (here / "done.txt").touch()
    names = ["a", "bc", "done"]
    listed = list_jobs(here / "Snakefile", {"names": names}, ("all",))
    assert not listed["as_if_accepted"]
    found = {job["wildcards"]["name"]: job for job in listed["jobs"]}
    assert sorted(found) == ["a", "bc"] and not (here / "a.txt").exists()
    assert found["bc"] == {
        "rule": "one",
        "wildcards": {"name": "bc"},
        "threads": 64,
        "need": {"seconds": 2, "gpus": 2},
        "asked": {"mem_mb": 1_000, "runtime": 10, "gpus": 2},
    }


def test_what_snakemake_cannot_plan_is_an_error_with_its_words(here):
    (here / "Snakefile").write_text("rule all:\n    input: 'nowhere.txt'\n")
    with pytest.raises(UserError, match=r"(?s)cannot plan this config: .*nowhere\.txt"):
        list_jobs(here / "Snakefile", {}, ("all",))
