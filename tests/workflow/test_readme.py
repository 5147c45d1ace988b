"""What the documents ask people to type is taken from them and tried."""

import csv
import re
import subprocess

import pytest

from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake

pytestmark = pytest.mark.workflow
PAGE = ROOT / "config/README.md"
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]


def write_example_config(folder) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
    (folder / "mine.yaml").write_text(block)


def test_example_config_grid(tmp_path):
    write_example_config(tmp_path)
    jobs = count_jobs(run_snakemake(tmp_path, "-n", "--configfile", "mine.yaml"))
    assert (jobs["fetch_model"], jobs["fetch_dataset"], jobs["evaluate_direct"]) == (2, 2, 2)


def test_example_config_cpu_hours(tmp_path):
    """Whoever tries it has no GPU, perhaps: a cap of the test alone leaves the published training."""
    write_example_config(tmp_path)
    (tmp_path / "cpu.yaml").write_text("compute: {device: cpu}\n")
    run_snakemake(tmp_path, "plan", "--configfile", "mine.yaml", "cpu.yaml")
    with (tmp_path / "results/plan.csv").open(newline="") as file:
        (*_, total) = csv.DictReader(file)
    assert round(float(total["cpu_hours"]), 1) == 1.5
    assert "On a CPU this example is planned at 1.5 hours" in PAGE.read_text()


def test_readme_length():
    """The README is read in a few minutes; longer explanations have pages of their own."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 160


def test_make_help_targets():
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert {"help", "demo", "test"} <= targets
    result = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    descriptions = dict(re.findall(r"^  make ([\w-]+) +(\S.*)$", result.stdout, re.M))
    assert set(descriptions) == targets
    for page in PAGES:
        names = re.findall(r"(?:^    |`)make ([a-z][\w-]*)", page.read_text(), re.M)
        assert set(names) <= targets, page.name


def test_documented_snakemake_targets(tmp_path):
    result = run_snakemake(tmp_path, "--list")
    assert result.returncode == 0, result.stdout + result.stderr
    targets = set(re.findall(r"^(\w+) \(", result.stdout, re.M))
    command = re.compile(r"(?:^ *|`)snakemake((?: [a-z_]+)+)(?=[ `\n])", re.M)
    for page in set(PAGES) - {
        ROOT / "docs/extending.md"
    }:  # which adds one, and has a test of its own
        names = {target for words in command.findall(page.read_text()) for target in words.split()}
        assert names <= targets, page.name
