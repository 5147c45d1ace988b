"""List the pending jobs of a config, with their resources, by a dry run of Snakemake.

The dry run calls the resource functions of each job, as every run does. If the environment names a file, these
functions append the job to it. Jobs with constant resources, all of them small, are not listed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.job_batches import strip_batch_suffix

_JOB_LIST = "CHORUS_JOB_LIST"
# Snakemake limits a job's threads to the cores.
_DRY_RUN = (sys.executable, "-m", "snakemake", "all", "--dry-run", "--nolock", "--cores", "1024")
CHECKS = Path("results/requests/checks.json")


def is_listing() -> bool:
    """Return whether this Snakemake is the dry run of `list_jobs`."""
    return _JOB_LIST in os.environ


def record_job(rule: str, wildcards, needs: dict[str, Any]) -> None:
    """Append a job to the list, if `list_jobs` runs; a job may be appended twice."""
    if is_listing():
        job = {"rule": rule, "wildcards": dict(wildcards.items()), **needs}
        with Path(os.environ[_JOB_LIST]).open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(job)}\n")


def list_jobs(snakefile: Path, config: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Return the jobs, and whether they include leaderboard submissions that were not checked yet."""
    with tempfile.TemporaryDirectory() as folder:
        jobs, configfile = Path(folder, "jobs"), Path(folder, "config.yaml")
        jobs.touch()
        # Unsorted, because Snakemake compares the parameters as text.
        configfile.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        run = subprocess.run(
            [*_DRY_RUN, "--snakefile", str(snakefile), "--configfile", str(configfile)],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {_JOB_LIST: str(jobs)},
        )
        lines = jobs.read_text(encoding="utf-8").splitlines()
    if run.returncode:
        raise UserError(f"Snakemake cannot plan this config: {(run.stdout + run.stderr).strip()}")
    listed = [json.loads(line) for line in dict.fromkeys(lines)]
    for job in listed:
        job["rule"] = strip_batch_suffix(job["rule"])
    has_rows = any("row" in job["wildcards"] for job in listed)
    return listed, has_rows and not CHECKS.exists()
