"""Test users' command lines: dry runs of every config, the linter, the Slurm profile, and mistakes."""

import re
import shutil
import sys

import pytest

from tests.processes import python
from tests.unit.settings.merged import CONFIGS
from tests.workflow.snakemake import ROOT, count_jobs, run_for, run_snakemake

pytestmark = pytest.mark.workflow

TABLE = "results/tables/published_agreement.md"
PROFILE = str(ROOT / "profiles/slurm")
# `make test-all` checks the other configs; the Slurm profile is tested with config.yaml.
QUICK_CONFIGS = ("first.yaml",)
CONFIG_CASES = [
    pytest.param(path, id=path.name, marks=[] if path.name in QUICK_CONFIGS else pytest.mark.slow)
    for path in CONFIGS
]


def test_bad_command_line(tmp_path):
    result = run_snakemake(tmp_path, "--config", "sead=3")
    output = result.stdout + result.stderr
    assert result.returncode != 0 and "Did you mean 'seed'?" in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists() and not (tmp_path / "logs").exists()


@pytest.mark.parametrize("path", CONFIG_CASES)
def test_dry_run_grid(path, tmp_path):
    result = run_snakemake(tmp_path, "-n", "--configfile", str(path))
    # An exception means that a rule uses something the config does not have.
    assert "Exception" not in result.stdout + result.stderr
    jobs = count_jobs(result)
    assert jobs.get("evaluate_direct") == jobs.get("train_before_test")
    assert ("evaluate_direct" in jobs) == ("leaderboard_table" in jobs)


def test_slurm_profile_without_slurm(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "which"):  # used by Snakemake and its plugin
        (programs / name).symlink_to(shutil.which(name))
    result = run_snakemake(tmp_path, TABLE, "--profile", PROFILE, PATH=str(programs))
    assert result.returncode == 1 and "Slurm's sbatch cannot be found" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "results").exists() and not (tmp_path / "logs").exists()
    # Run from the root, as users do: Snakemake looks for the link `slurm`.
    command = [sys.executable, "-m", "snakemake", "-n", "--profile", "slurm", "--directory"]
    assert count_jobs(run_for(tmp_path, *command, tmp_path, cwd=ROOT))["train_before_test"] == 6


def test_snakemake_lint(tmp_path):
    result = run_snakemake(tmp_path, "--lint")
    assert result.returncode == 0, result.stdout + result.stderr


def test_rules_import_no_heavy_package():
    """Imports of rules are light, because every cluster job parses the rules again."""
    rules = "".join(path.read_text() for path in [ROOT / "Snakefile", *ROOT.glob("rules/*.smk")])
    modules = set(re.findall(r"^from (workflow_scripts[\w.]*) import", rules, re.M))
    packages = set(python(f"import sys, {', '.join(modules)}; print(*sys.modules)").split())
    assert "workflow_scripts.settings.load" in packages
    heavy = "torch transformers datasets pandas numpy pyarrow matplotlib scipy peft"
    assert not packages & {*heavy.split(), "lm_eval", "lighteval", "huggingface_hub"}
