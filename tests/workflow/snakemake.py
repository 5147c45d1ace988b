"""Run the real Snakemake on the real Snakefile, in a folder of the test's own."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import yaml

from workflow_scripts.settings.job_batches import strip_batch_number

ROOT = Path(__file__).parents[2]
# A world that is built and trained in seconds: the same rules, fewer items and steps.
SMALL = ["--configfile", str(ROOT / "tests/workflow/small.yaml")]


def run_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return run_for(folder, *build_command(folder, *arguments), **environment)


def run_for(
    folder: Path, *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run a command in the environment that the folder's runs have, there or elsewhere."""
    return subprocess.run(
        words,
        env=build_environment(folder, **environment),
        cwd=cwd or folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def start_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen:
    """Start Snakemake beside the test, in a session of its own; its output is in snakemake.out."""
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
    """Change some keys of the small world as a user would, by one more config file; return the arguments."""
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
    """Build an environment with a home of its own: no part is played by the user's caches and tokens."""
    home = folder / ".home"
    home.mkdir(exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "XDG_", "SNAKEMAKE_", "PYTEST_"))
    }
    return {**inherited, "HOME": str(home), "COLUMNS": "200", **changes}


def count_jobs(result: subprocess.CompletedProcess) -> dict[str, int]:
    """Count how often each rule would run, or ran, from the table of job counts; packs of tasks added up."""
    assert result.returncode == 0, result.stdout + result.stderr
    table = (result.stdout + result.stderr).split("Job stats", 1)[1].split("total", 1)[0]
    # The rich logger shows a rule's underscores as spaces.
    rows = re.findall(r"^\s*([a-z][\w ]*?)\s{2,}(\d+)\s*$", table, re.M)
    counts: Counter[str] = Counter()
    for name, count in rows:
        counts[strip_batch_number(name.replace(" ", "_"))] += int(count)
    return dict(counts)
