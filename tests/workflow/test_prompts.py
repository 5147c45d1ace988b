"""Prompt runs as a user meets them: another parser, another prompt, a run more, a look at a prompt."""

import re

import pandas as pd
import pytest
import yaml

from tests.workflow.snakemake import ROOT, SMALL, jobs_of, run_snakemake, with_config

pytestmark = pytest.mark.workflow

MODEL = "miniature--Llama-1.4M-Instruct"


def own_run(folder, name, keys) -> None:
    path = folder / f"config/prompts/{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(keys if isinstance(keys, str) else yaml.safe_dump(keys))


def workflow_run(name) -> dict:
    return yaml.safe_load((ROOT / f"config/prompts/{name}.yaml").read_text())


def stored(folder) -> dict[str, tuple[bytes, int]]:
    """The outputs, and when they were written."""
    paths = (folder / f"results/outputs/prompts/{MODEL}").glob("[!.]*.*")
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def test_a_changed_parser_scores_stored_outputs_anew_and_runs_no_model(copy):
    table = copy / "results/tables/prompt_runs.csv"
    before, outputs = pd.read_csv(table).set_index("run"), stored(copy)
    answers = [{"parser": "json_text", "right": "equal"}, {"parser": "whole", "right": "occurs"}]
    own_run(copy, "run6", workflow_run("run6") | {"read": {"answers": answers}})
    result = run_snakemake(copy, "prompts", *SMALL)
    assert result.returncode == 0, result.stdout + result.stderr
    jobs = jobs_of(result)
    assert jobs["score_prompt_run"] == 1 and "ask_prompt_run" not in jobs
    assert stored(copy) == outputs
    after = pd.read_csv(table).set_index("run")
    assert after.loc[["run8", "run9"], "micro"].equals(before.loc[["run8", "run9"], "micro"])
    own_run(copy, "run8", workflow_run("run8") | {"decoding": {"new_tokens": 5}})
    jobs = jobs_of(run_snakemake(copy, "prompts", "-n", *SMALL))
    assert jobs["ask_prompt_run"] == 1, "run9 extends it, but generates nothing"


def test_the_run_of_the_documentation_is_made_by_adding_its_file(copy):
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/prompts.md").read_text(), re.S)
    own_run(copy, "run10", blocks[0])
    runs = {"prompts": {"runs": ["run6", "run8", "run9", "run10"], "max_items_per_subject": 1}}
    config = with_config(copy, **runs)
    assert run_snakemake(copy, "prompts", *config).returncode == 0
    table = pd.read_csv(copy / "results/tables/prompt_runs.csv").set_index("run")
    assert list(table.index) == ["run6", "run8", "run9", "run10"]
    assert (table.loc["run10", "after"], table.loc["run10", "pairs"]) == ("run6", 57)
    explained = run_snakemake(
        copy, "explain_prompt", "--config", "explain=run10/anatomy/0", *config
    )
    assert explained.returncode == 0, explained.stdout + explained.stderr
    text = (copy / "results/explained_prompt.txt").read_text()
    assert text.count("The best answer is ") == 5
