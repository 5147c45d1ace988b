"""What the README asks people to type is taken from it and tried."""

import csv
import re

import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake

pytestmark = pytest.mark.workflow


def write_the_example(folder) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
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
        hours = sum(float(row["cpu_hours"]) for row in csv.DictReader(file))
    assert round(hours) == 1
    assert "On a CPU this example is planned at one hour" in (ROOT / "README.md").read_text()
