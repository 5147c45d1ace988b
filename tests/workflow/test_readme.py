"""What the documents ask people to type is taken from them and tried."""

import csv
import re
import subprocess

import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake

pytestmark = pytest.mark.workflow
PAGE = ROOT / "config/README.md"
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]


def write_the_example(folder) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
    (folder / "mine.yaml").write_text(block)


def test_the_example_config_plans_its_grid(tmp_path):
    write_the_example(tmp_path)
    jobs = jobs_of(run_snakemake(tmp_path, "-n", "--configfile", "mine.yaml"))
    assert (jobs["fetch_model"], jobs["fetch_dataset"], jobs["evaluate_direct"]) == (2, 2, 2)


def test_the_example_config_takes_an_hour_of_a_cpu_and_not_days(tmp_path):
    """Whoever tries it has no GPU, perhaps: a cap of the test alone leaves the published training."""
    write_the_example(tmp_path)
    (tmp_path / "cpu.yaml").write_text("compute: {device: cpu}\n")
    run_snakemake(tmp_path, "plan", "--configfile", "mine.yaml", "cpu.yaml")
    with (tmp_path / "results/plan.csv").open(newline="") as file:
        (*_, whole) = csv.DictReader(file)
    assert round(float(whole["cpu_hours"])) == 1
    assert "On a CPU this example is planned at one hour" in PAGE.read_text()


def test_the_readme_is_read_in_a_few_minutes():
    """What is said at length has a page of its own."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 160


def test_make_help_names_every_target_and_the_documents_name_no_other():
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert {"help", "demo", "test"} <= targets
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    told = dict(re.findall(r"^  make ([\w-]+) +(\S.*)$", told.stdout, re.M))
    assert set(told) == targets
    for page in PAGES:
        named = re.findall(r"(?:^    |`)make ([a-z][\w-]*)", page.read_text(), re.M)
        assert set(named) <= targets, page.name


def test_every_target_that_the_documents_ask_snakemake_for_is_listed(tmp_path):
    listed = run_snakemake(tmp_path, "--list")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    targets = set(re.findall(r"^(\w+) \(", listed.stdout, re.M))
    command = re.compile(r"(?:^ *|`)snakemake((?: [a-z_]+)+)(?=[ `\n])", re.M)
    for page in set(PAGES) - {
        ROOT / "docs/extending.md"
    }:  # which adds one, and has a test of its own
        named = {target for words in command.findall(page.read_text()) for target in words.split()}
        assert named <= targets, page.name
