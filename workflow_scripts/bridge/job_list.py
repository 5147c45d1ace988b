"""The jobs of a config that are to run, with what each needs, listed by a dry run of Snakemake.

The dry run asks the functions behind a job's resources, as every run does; while the environment names a file, they
write each job into it. Jobs whose resources are plain numbers, small work all of them, are not listed.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.errors import UserError

_FILE = "CHORUS_JOB_LIST"
_CORES = "1024"  # Snakemake cuts a job's threads to what there is
CHECKS = Path("results/requests/checks.json")


def is_listing() -> bool:
    """Return whether this Snakemake is the dry run of `list_jobs`."""
    return _FILE in os.environ


def record_job(rule: str, wildcards, threads: int, need, request: dict[str, Any]) -> None:
    """Write a job into the list, if one is asked for; a job may come twice."""
    if is_listing():
        job = {"rule": rule, "wildcards": dict(wildcards.items()), "threads": threads}
        line = json.dumps(job | {"need": asdict(need), "asked": request})
        with Path(os.environ[_FILE]).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def list_jobs(snakefile: Path, config: dict[str, Any], targets: tuple[str, ...]) -> dict[str, Any]:
    """Return the jobs, and whether requests of the leaderboard count as accepted because nobody has checked them."""
    with tempfile.TemporaryDirectory() as folder:
        jobs, configfile = Path(folder, "jobs"), Path(folder, "config.yaml")
        jobs.touch()
        # In its own order: parameters are compared as they are written.
        configfile.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        options = ["--dry-run", "--nolock", "--cores", _CORES, "--configfile", str(configfile)]
        run = subprocess.run(
            [
                sys.executable,
                "-m",
                "snakemake",
                "--snakefile",
                str(snakefile),
                *options,
                "--",
                *targets,
            ],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {_FILE: str(jobs)},
        )
        lines = jobs.read_text(encoding="utf-8").splitlines()
    if run.returncode:
        raise UserError(f"Snakemake cannot plan this config: {(run.stdout + run.stderr).strip()}")
    listed = [json.loads(line) for line in dict.fromkeys(lines)]
    has_rows = any("row" in job["wildcards"] for job in listed)
    return {"jobs": listed, "as_if_accepted": has_rows and not CHECKS.exists()}
