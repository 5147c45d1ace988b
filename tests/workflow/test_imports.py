"""Test imported scores: tables and pages from a CSV file, lm-eval results, or another run's shared results."""

import csv
import re

import pandas as pd
import pytest

from tests.records import write_lm_eval_results
from tests.workflow.snakemake import count_jobs, run_snakemake, write_changed_config

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
NOTHING = {
    "chunking": {"checkpoints": []},
    "prompts": {"models": []},
    "suite": {"requests": "none"},
}
MODELS = ("acme/Anvil-1B", "acme/Anvil-2B", "acme/Rocket-1B", "Qwen/Qwen2.5-0.5B")
# For each task, the shots, and the correct answers out of ten of the better and the worse model.
TASKS = {"arc_easy": (2, (9, 5)), "rte": (0, (8, 4)), "sst2": (0, (7, 6))}


def write_scores(folder):
    """Write scores of increasingly better models on tasks outside the default config, and bits per byte of a text."""
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "task", "protocol", "metric", "value", "stderr"])
        for rank, model in enumerate(MODELS):
            for protocol in ("direct", "train_before_test"):
                for down, task in enumerate(("piqa", "winogrande", "boolq", "wic")):
                    metric = "acc_norm" if task == "piqa" else "acc"
                    value = 0.5 + 0.1 * rank + 0.01 * ((rank * (down + 1)) % 3)
                    writer.writerow([model, task, protocol, metric, value, 0.01])
                writer.writerow([model, "my_text", protocol, "bits_per_byte", 1.5 - 0.1 * rank, ""])


def test_imported_scores_without_models(tmp_path):
    """The default target runs without evaluations, up to the report and the leaderboard."""
    write_scores(tmp_path)
    (tmp_path / "none").mkdir()
    imported = {"models": [], "imported_scores": ["table.csv"], "num_bootstrap": 20}
    config = write_changed_config(tmp_path, **NOTHING, harmony=imported)
    result = run_snakemake(tmp_path, *config)
    jobs = count_jobs(result)
    assert not [name for name in jobs if name.startswith(("evaluate_", "fetch_", "build_world"))]
    scores = pd.read_csv(tmp_path / "results/tables/harmony_scores.csv")
    assert set(scores["task"]) == {"PIQA", "Winogrande", "BoolQ", "WiC"}
    assert set(scores["model"]) == set(MODELS)
    page = (tmp_path / "results/report/index.html").read_text()
    (chapter,) = re.findall(r'<section id="harmony">(.*?)</section>', page, re.S)
    assert "mean rank correlation of two tasks" in chapter
    assert "0 models were measured" not in page
    board = (tmp_path / "results/report/leaderboard.html").read_text()
    assert all(model in board for model in MODELS)


def test_imported_results(tmp_path):
    models = ("org/better", "org/worse")
    for index, model in enumerate(models):
        for task, (shots, right) in TASKS.items():
            folder = tmp_path / "theirs" / model
            write_lm_eval_results(folder, model, task, right[index], shots=shots)
    (tmp_path / "none").mkdir()
    harmony = {"models": [], "num_bootstrap": 20}
    config = write_changed_config(tmp_path, **NOTHING, imports=["theirs"], harmony=harmony)
    leaderboard = "results/tables/harmony_leaderboard.csv"
    pair = "compare=org/better org/worse"
    jobs = count_jobs(run_snakemake(tmp_path, leaderboard, *config))
    assert not [name for name in jobs if name.startswith(("evaluate_", "fetch_"))]
    result = run_snakemake(tmp_path, "compare", *config, "--config", pair)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(pd.read_csv(tmp_path / leaderboard)["origin"]) == {"theirs"}
    comparison = pd.read_csv(tmp_path / "results/tables/compare.csv")
    assert set(comparison["scores"]) == {"theirs"} and (comparison["difference"] > 0).any()


def test_shared_results_give_same_scores(tmp_path):
    """Scores and ranks are the same except for their origin; intervals differ, because items are not reimported."""
    here, there = tmp_path / "here", tmp_path / "there"
    tables = [f"results/tables/harmony_{name}.csv" for name in ("scores", "leaderboard")]
    nothing = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}
    for folder in (here, there):
        (folder / "none").mkdir(parents=True)
    config = write_changed_config(here, **nothing, suite={"requests": "none"})
    result = run_snakemake(here, "share", *tables, *config)
    assert count_jobs(result)["train_before_test"] == 4, result.stdout + result.stderr
    shared = here / "results/share"
    imports = {"imports": [str(shared)], "harmony": {"models": []}, "suite": {"requests": "none"}}
    result = run_snakemake(there, *tables, *write_changed_config(there, **nothing, **imports))
    assert set(count_jobs(result)) & {"evaluate_direct", "train_before_test"} == set()
    for name, columns in zip(
        tables, (["task", "model", "value", "stderr"], ["model", "rank"]), strict=True
    ):
        own, other = (pd.read_csv(folder / name)[columns] for folder in (here, there))
        assert len(own) > 3
        pd.testing.assert_frame_equal(own, other)
