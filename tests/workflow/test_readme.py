"""What the README asks people to type is taken from it and tried."""

import re

import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake

pytestmark = pytest.mark.workflow


def test_the_example_config_plans_its_grid(tmp_path):
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    (tmp_path / "mine.yaml").write_text(block)
    jobs = jobs_of(run_snakemake(tmp_path, "-n", "--configfile", "mine.yaml"))
    assert (jobs["fetch_model"], jobs["fetch_dataset"], jobs["evaluate_direct"]) == (2, 2, 2)
