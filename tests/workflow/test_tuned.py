"""Test fine-tuning a model of any architecture on a dataset, and evaluating it like any other model."""

import csv

import pytest

from tests.workflow.snakemake import count_jobs, run_snakemake
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.hub.manifest import read_manifest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
source: {source}
training:
  models: [{model}]
  tuned: mine
  recipes:
    mine:
      {{data: text, dataset: Salesforce/wikitext, subset: wikitext-103-raw-v1, max_length: 128, max_samples: 40,
        max_steps: 2, batch_size: 4, learning_rate: 1.0e-3}}
chunking: {{checkpoints: []}}
prompts: {{models: []}}
suite: {{requests: none}}
harmony: {{models: [{model}, {model}+tuned], tasks: [rte], protocols: [direct], num_bootstrap: 20}}
mmlu: {{models: [{model}+tuned], max_items_per_subject: 1}}
miniature: {{items: 16}}
"""


def write_config(folder, **words: str) -> tuple[str, str]:
    (folder / "none").mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(CONFIG.format(**words))
    return "--configfile", "mine.yaml"


def test_gpt_neox_tuning(tmp_path):
    config = write_config(tmp_path, source="miniature", model="miniature/Pythia-0.1M")
    table, tuned = "results/tables/harmony_scores.csv", "miniature--Pythia-0.1M+tuned"
    result = run_snakemake(tmp_path, table, "training", *config)
    assert count_jobs(result)["train_checkpoint"] == 1, result.stdout + result.stderr
    with (tmp_path / table).open(newline="") as file:
        scores = {row["model"]: row["value"] for row in csv.DictReader(file)}
    assert set(scores) == {"miniature/Pythia-0.1M", "miniature/Pythia-0.1M+tuned"}
    assert all(scores.values()), "both have a score"
    with (tmp_path / "results/tables/training_stages.csv").open(newline="") as file:
        stages = {row["stage"]: row for row in csv.DictReader(file)}
    assert list(stages) == ["untrained", "tuned"] and stages["tuned"]["steps"] == "2"
    perplexities = [float(row["wikitext"]) for row in stages.values()]
    assert perplexities[1] < perplexities[0], "it was trained on such text"
    assert (tmp_path / "results/figures/training_curves.png").stat().st_size > 5000
    record = read_training_record(tmp_path / f"results/training/{tuned}.json")
    assert record.recipe == "mine" and record.facts["steps"] == 2
    manifest = read_manifest(tmp_path / f"results/checkpoints/{tuned}/manifest.json")
    assert manifest.architecture == "GPTNeoXForCausalLM"
    assert record.trained.weights_sha256 != record.base.weights_sha256
    jobs = count_jobs(run_snakemake(tmp_path, "-n", *config))
    assert jobs["evaluate_mmlu"] == 1 and "train_checkpoint" not in jobs
