"""Test prompt runs as a user changes them: another parser, another prompt, a new run."""

import re

import pandas as pd
import pytest
import yaml

from tests.workflow.snakemake import ROOT, SMALL, count_jobs, run_snakemake, write_changed_config

pytestmark = pytest.mark.workflow


def write_run(folder, name, text=None, **keys) -> None:
    """Write a user's prompt run: a YAML text, or a run of the repository with changed keys."""
    path = folder / f"config/prompts/{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        run = yaml.safe_load((ROOT / f"config/prompts/{name}.yaml").read_text())
        text = yaml.safe_dump(run | keys)
    path.write_text(text)


def test_changed_parser_reuses_outputs(copy):
    table = copy / "results/tables/prompt_runs.csv"
    before = pd.read_csv(table).set_index("run")
    answers = [{"parser": "json_text", "right": "equal"}, {"parser": "whole", "right": "occurs"}]
    write_run(copy, "run6", read={"answers": answers})
    result = run_snakemake(copy, "prompts", *SMALL)
    assert result.returncode == 0, result.stdout + result.stderr
    jobs = count_jobs(result)
    assert jobs["score_prompt_run"] == 1 and "ask_prompt_run" not in jobs
    after = pd.read_csv(table).set_index("run")
    assert after.loc[["run8", "run9"], "micro"].equals(before.loc[["run8", "run9"], "micro"])
    write_run(copy, "run8", decoding={"new_tokens": 5})
    jobs = count_jobs(run_snakemake(copy, "prompts", "-n", *SMALL))
    assert jobs["ask_prompt_run"] == 1, "run9 extends it, but generates nothing"


def test_documented_run(copy):
    text = (ROOT / "docs/prompts.md").read_text()
    write_run(copy, "run10", re.findall(r"```yaml\n(.*?)```", text, re.S)[0])
    runs = {"runs": ["run6", "run10"], "max_items_per_subject": 1}
    config = write_changed_config(copy, prompts=runs)
    result = run_snakemake(copy, "prompts", *config)
    assert result.returncode == 0, result.stdout + result.stderr
    table = pd.read_csv(copy / "results/tables/prompt_runs.csv").set_index("run")
    assert (table.loc["run10", "after"], table.loc["run10", "n"]) == ("run6", 57)
    explain = ("--config", "explain=run10/anatomy/0")
    assert run_snakemake(copy, "explain_prompt", *explain, *config).returncode == 0
    text = (copy / "results/explained_prompt.txt").read_text()
    assert text.count("The best answer is ") == 5
