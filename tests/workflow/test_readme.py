"""Test the commands and configs in the documentation."""

import re
import subprocess

import pandas as pd
import pytest

from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake

pytestmark = pytest.mark.workflow
PAGE = ROOT / "config/README.md"
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]


def test_make_help_targets():
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert {"help", "demo", "test"} <= targets
    result = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    descriptions = dict(re.findall(r"^  make ([\w-]+) +(\S.*)$", result.stdout, re.M))
    assert set(descriptions) == targets
    for page in PAGES:
        names = re.findall(r"(?:^    |`)make ([a-z][\w-]*)", page.read_text(), re.M)
        assert set(names) <= targets, page.name


@pytest.mark.slow
def test_example_config_cpu_hours(tmp_path):
    """The example is affordable without a GPU; a cap on test items alone would keep the full training."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "mine.yaml").write_text(block)
    (tmp_path / "cpu.yaml").write_text(
        "compute: {device: cpu, dtype: float32}\nharmony: {recipes: {published: {precision: float32}}}"
    )
    run_snakemake(tmp_path, "plan", "--configfile", "mine.yaml", "cpu.yaml")
    rows = pd.read_csv(tmp_path / "results/plan.csv", index_col="rule")
    rules = ["fetch", "evaluate_direct"]
    assert rows.loc[rules, "jobs"].tolist() == [4, 2]
    assert round(rows.loc["all", "cpu_hours"], 1) == 1.5
    assert "On a CPU this example is planned at 1.5 hours in float32" in PAGE.read_text()


def test_documented_snakemake_targets(tmp_path):
    result = run_snakemake(tmp_path, "--list")
    assert result.returncode == 0, result.stdout + result.stderr
    targets = set(re.findall(r"^(\w+) \(", result.stdout, re.M))
    command = re.compile(r"(?:^ *|`)snakemake((?: [a-z_]+)+)(?=[ `\n])", re.M)
    # extending.md adds a target, and has its own test.
    for page in set(PAGES) - {ROOT / "docs/extending.md"}:
        names = {target for words in command.findall(page.read_text()) for target in words.split()}
        assert names <= targets, page.name


def test_published_target_needs_no_models(tmp_path):
    jobs = count_jobs(run_snakemake(tmp_path, "published", "test_task", "-n"))
    assert jobs["agreement"] == 2
    assert not [rule for rule in jobs if rule.startswith(("fetch", "evaluate_", "build_world"))]
