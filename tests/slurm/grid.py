"""The small grid, sent to Slurm with the profile that users are given."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.slurm.cluster import Cluster
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import ROOT, command, environment_with

# Only what would have a test wait is other than in the profile.
SLURM = [
    *("--profile", str(ROOT / "profiles/slurm"), "--latency-wait", "10"),
    *("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"),
]


def start_on_slurm(
    cluster: Cluster,
    folder: Path,
    *options: str,
    targets: Sequence[str] = TARGETS,
    **environment: str,
) -> subprocess.Popen:
    with (folder / "snakemake.out").open("w") as output:
        return subprocess.Popen(
            command(folder, *targets, *GRID, *SLURM, *options),
            env=environment_with(folder, **cluster.environment, **environment),
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def said(folder: Path) -> str:
    return (folder / "snakemake.out").read_text()
