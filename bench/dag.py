"""Measure how long Snakemake plans the published grid, compared with a bare workflow with as many jobs.

    make bench-dag

Both are dry runs of every model, task and protocol of config/paper.yaml, one job each, and alternate; the
bare workflow has only the same inputs and outputs. Prints CPU seconds, peak memory and their ratios, and
the growth of memory from a quarter of the models to all of them.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
BARE = """\
MODELS, TASKS = {models!r}, {tasks!r}

rule all:
    input:
        expand("{{protocol}}/{{model}}/{{task}}.json", protocol=["direct", "trained"], model=MODELS, task=TASKS)

rule fetch:
    output: "hub/{{kind}}/{{name}}.json"
    shell: "touch {{output}}"

rule direct:
    input: "hub/models/{{model}}.json", "hub/datasets/{{task}}.json"
    output: "direct/{{model}}/{{task}}.json", "direct/{{model}}/{{task}}.parquet"
    shell: "touch {{output}}"

rule trained:
    input: "hub/models/{{model}}.json", "hub/datasets/{{task}}.json"
    output: "trained/{{model}}/{{task}}.json", "trained/{{model}}/{{task}}.parquet"
    shell: "touch {{output}}"
"""


def main() -> None:
    paper = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    models, tasks = paper["harmony"]["models"], paper["harmony"]["tasks"]
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            count: _measure(Path(folder), paper, models[:count], tasks)
            for count in (len(models) // 4, len(models))
        }
    for count, (own, bare) in runs.items():
        cells = 2 * count * len(tasks)
        ratios = [a[0] / b[0] for a, b in zip(own, bare, strict=True)]
        print(
            f"{cells} cells: {_median(own, 0):.1f} s and {_median(own, 1):.0f} MB, bare"
            f" {_median(bare, 0):.1f} s and {_median(bare, 1):.0f} MB; ratio of seconds"
            f" {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
    (quarter, _), (whole, _) = runs.values()
    growth = _median(whole, 1) / _median(quarter, 1)
    print(
        f"With {len(models) / (len(models) // 4):.1f} times the cells, {growth:.1f} times the memory"
    )


def _measure(folder: Path, paper: dict, models: list[str], tasks: list[str]):
    """Return the CPU seconds and peak memory (MB) of each dry run of this workflow, and of the bare one."""
    config, bare = folder / "config.yaml", folder / "Snakefile"
    harmony = paper["harmony"] | {"models": models}
    values = paper | {"harmony": harmony, "cluster": {"tasks_per_job": 1}}
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    names = [name.replace("/", "--") for name in models]
    bare.write_text(BARE.format(models=names, tasks=tasks), encoding="utf-8")
    arguments = ["harmony", "-s", str(ROOT / "Snakefile"), "--configfile", str(config)]
    own_runs, bare_runs = [], []
    for _ in range(ROUNDS):
        own_runs.append(_dry_run(folder, arguments))
        bare_runs.append(_dry_run(folder, ["-s", str(bare)]))
    return own_runs, bare_runs


def _dry_run(folder: Path, arguments: list[str]) -> tuple[float, float]:
    """Run a dry run; return CPU seconds and peak memory in MB."""
    command = [sys.executable, "-m", "snakemake", "-n", "-q", "all", "--workflow-profile", "none"]
    process = subprocess.Popen([*command, *arguments], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the dry run of {arguments} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _median(runs: list[tuple[float, float]], index: int) -> float:
    return statistics.median(run[index] for run in runs)


if __name__ == "__main__":
    main()
