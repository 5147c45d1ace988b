"""Planning while a run goes on in the same folder."""

import os

from workflow_scripts.planning.jobs import planned_jobs

SNAKEFILE = """
import os


NEEDS, AS_IF_ACCEPTED = {}, False
os.access = lambda *arguments: False  # a job has removed its output since it was found


checkpoint found_out:
    output: "found.txt"
    shell: "touch {output}"


def inputs(wildcards):
    return [*checkpoints.found_out.get().output, "input.txt"]


rule made_anew:
    input: inputs
    output: "output.txt"
    shell: "cat {input} > {output}"
"""


def test_an_output_that_a_job_is_making_anew_stops_no_plan(here):
    (here / "Snakefile").write_text(SNAKEFILE)
    for name in ("output.txt", "found.txt", "input.txt"):
        (here / name).touch()
    os.utime(here / "output.txt", (1, 1))
    jobs = planned_jobs(here / "Snakefile", {}, ("made_anew",))
    assert [(job.rule, job.is_done) for job in jobs] == [("found_out", True), ("made_anew", False)]
