"""Run the small grid on Slurm with the repository's profile."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.slurm.cluster import Cluster
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import ROOT, start_snakemake

# Shorter waiting times than in the profile; the rest is the same.
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
    arguments = [*targets, *GRID, *SLURM, *options]
    return start_snakemake(folder, *arguments, **cluster.environment, **environment)


def read_output(folder: Path) -> str:
    return (folder / "snakemake.out").read_text()
