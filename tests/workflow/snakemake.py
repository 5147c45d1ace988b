"""Run Snakemake on the repository's Snakefile in a temporary working directory."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import yaml

from workflow_scripts.settings.job_batches import strip_batch_suffix

ROOT = Path(__file__).parents[2]
# A config that runs in seconds: the same rules with fewer items and steps.
SMALL = ["--configfile", str(ROOT / "tests/workflow/small.yaml")]


def run_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return run_for(folder, *build_command(folder, *arguments), **environment)


def run_for(
    folder: Path, *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run a command in `cwd`, or else in `folder`, with the environment of the folder's runs."""
    return subprocess.run(
        words,
        env=build_environment(folder, **environment),
        cwd=cwd or folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def start_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen:
    """Start Snakemake in the background in a new session; its output goes to snakemake.out."""
    with (folder / "snakemake.out").open("w") as output:
        return subprocess.Popen(
            build_command(folder, *arguments),
            env=build_environment(folder, **environment),
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def write_changed_config(folder: Path, **changes) -> list[str]:
    """Change keys of the small config with another config file, as a user would; return the arguments."""
    path = folder / "changes.yaml"
    path.write_text(yaml.safe_dump(changes))
    return [*SMALL, str(path)]


def build_command(folder: Path, *arguments: str, snakefile: Path = ROOT / "Snakefile") -> list[str]:
    return [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(snakefile),
        "--directory",
        str(folder),
        *arguments,
    ]


def build_environment(folder: Path, **changes: str) -> dict[str, str]:
    """Build an environment with its own home directory, without the user's caches and tokens."""
    home = folder / ".home"
    home.mkdir(exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "XDG_", "SNAKEMAKE_", "PYTEST_"))
    }
    return {**inherited, "HOME": str(home), "COLUMNS": "200", **changes}


def count_jobs(result: subprocess.CompletedProcess) -> dict[str, int]:
    """Count the jobs of each rule from Snakemake's table of job counts; batches of a rule are summed."""
    assert result.returncode == 0, result.stdout + result.stderr
    table = (result.stdout + result.stderr).split("Job stats", 1)[1].split("total", 1)[0]
    # The rich logger shows a rule's underscores as spaces.
    rows = re.findall(r"^\s*([a-z][\w ]*?)\s{2,}(\d+)\s*$", table, re.M)
    counts: Counter[str] = Counter()
    for name, count in rows:
        counts[strip_batch_suffix(name.replace(" ", "_"))] += int(count)
    return dict(counts)
