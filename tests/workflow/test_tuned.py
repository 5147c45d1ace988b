"""Test fine-tuning a model of any architecture on a dataset, and evaluating it like any other model."""

import pandas as pd
import pytest

from tests.workflow.snakemake import count_jobs, run_snakemake
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.hub.manifest import read_manifest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
MODEL, TUNED = "miniature/Pythia-0.1M", "miniature/Pythia-0.1M+tuned"
CONFIG = f"""
training:
  models: [{MODEL}]
  tuned: mine
  recipes:
    mine:
      {{data: text, dataset: Salesforce/wikitext, subset: wikitext-103-raw-v1, max_length: 128, max_samples: 40,
        max_steps: 2, batch_size: 4, learning_rate: 1.0e-3}}
chunking: {{checkpoints: []}}
prompts: {{models: []}}
suite: {{requests: none}}
harmony: {{models: [{MODEL}, {TUNED}], tasks: [rte], protocols: [direct], num_bootstrap: 20}}
mmlu: {{models: [{TUNED}], max_items_per_subject: 1}}
miniature: {{items: 16}}
"""


def test_gpt_neox_tuning(tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    config, table = ("--configfile", "mine.yaml"), "results/tables/harmony_scores.csv"
    result = run_snakemake(tmp_path, table, "training", *config)
    assert count_jobs(result)["train_checkpoint"] == 1, result.stdout + result.stderr
    scores = pd.read_csv(tmp_path / table)
    assert set(scores["model"]) == {MODEL, TUNED} and scores["value"].notna().all()
    stages = pd.read_csv(tmp_path / "results/tables/training_stages.csv", index_col="stage")
    assert list(stages.index) == ["untrained", "tuned"] and stages["steps"]["tuned"] == 2
    perplexity = stages["wikitext"]
    assert perplexity["tuned"] < perplexity["untrained"], "it was trained on such text"
    assert (tmp_path / "results/figures/training_curves.png").stat().st_size > 5000
    name = TUNED.replace("/", "--")
    record = read_training_record(tmp_path / f"results/training/{name}.json")
    assert record.recipe == "mine" and record.facts["steps"] == 2
    manifest = read_manifest(tmp_path / f"results/checkpoints/{name}/manifest.json")
    assert manifest.architecture == "GPTNeoXForCausalLM"
    assert record.trained.weights_sha256 != record.base.weights_sha256
    jobs = count_jobs(run_snakemake(tmp_path, "-n", *config))
    assert jobs["evaluate_mmlu"] == 1 and "train_checkpoint" not in jobs
