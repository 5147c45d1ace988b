"""Check with `sbatch --test-only` that Slurm accepts each distinct resource request of the pending jobs.

In: the config, and the default resources of the profile. Out: results/check_cluster.txt, which the terminal shows.
If the profile chooses partitions by slurm-partition-config, the default partition is checked.
"""

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job

_OPTIONS = {"slurm_partition": "partition", "slurm_account": "account", "qos": "qos"}


def list_sbatch_options(job: dict[str, Any], profile: dict[str, Any]) -> list[str]:
    """Return the options that the Slurm executor plugin passes to sbatch for a job of `list_jobs`."""
    options = [
        f"--mem={job['max_mem_mb']}",
        f"--time={job['minutes']}",
        f"--cpus-per-task={job['threads']}",
    ]
    if job["gpus"]:
        option, *kind = profile["gpu_request"].split(":")
        count = ":".join([*kind, str(job["gpus"])])
        options.append(f"--gres=gpu:{count}" if option == "gres" else f"--gpus={count}")
    options += [f"--{name}={profile[key]}" for key, name in _OPTIONS.items() if key in profile]
    return options + shlex.split(profile.get("slurm_extra", ""))


def main(snakefile: str, config: dict[str, Any], resources: dict[str, Any]) -> None:
    from workflow_scripts.bridge.job_list import list_jobs
    from workflow_scripts.core.errors import UserError
    from workflow_scripts.core.files import write_text

    if "gpu_request" not in resources or shutil.which("sbatch") is None:
        raise UserError(
            "`check_cluster` calls Slurm's sbatch; expected a machine that has it, and the profile that"
            " submits jobs: snakemake check_cluster --profile slurm"
        )
    rules: dict[tuple[str, ...], set[str]] = {}
    jobs, _ = list_jobs(Path(snakefile), config)
    for job in jobs:
        request = tuple(list_sbatch_options(job, resources))
        rules.setdefault(request, set()).add(job["rule"])
    refused = []
    for request, names in rules.items():
        command = ["sbatch", "--test-only", *request, "--wrap=true"]
        answer = subprocess.run(command, check=False, capture_output=True, text=True)
        if answer.returncode:
            refused.append(
                f"Slurm refuses {', '.join(sorted(names))} ({shlex.join(request)}): {' '.join(answer.stderr.split())}"
            )
    if refused:
        raise UserError(refused)
    write_text(
        Path("results/check_cluster.txt"),
        f"Slurm takes all {len(rules)} distinct requests of {len(jobs)} jobs.\n",
    )


if "snakemake" in globals():
    run_job(main, snakemake)
