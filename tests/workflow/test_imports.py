"""A run with `imports` alone: what lm-eval wrote, or another run shared, becomes scores, tables and answers."""

import pandas as pd
import pytest

from tests.records import write_lm_eval_results
from tests.workflow.snakemake import count_jobs, run_snakemake, write_changed_config

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
imports: [theirs]
harmony: {models: [], num_bootstrap: 20}
chunking: {checkpoints: []}
prompts: {models: []}
suite: {requests: none}
"""
# By task: examples, right answers of ten for the better model and the worse one.
TASKS = {"arc_easy": (2, (9, 5)), "rte": (0, (8, 4)), "sst2": (0, (7, 6))}


def test_imported_results(tmp_path):
    models = ("org/better", "org/worse")
    for index, model in enumerate(models):
        for task, (shots, right) in TASKS.items():
            folder = tmp_path / "theirs" / model
            write_lm_eval_results(folder, model, task, right[index], shots=shots)
    (tmp_path / "none").mkdir()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    leaderboard = "results/tables/harmony_leaderboard.csv"
    targets = (leaderboard, "results/report/leaderboard.html")
    result = run_snakemake(tmp_path, *targets, "--configfile", "mine.yaml")
    output = result.stdout + result.stderr
    assert not [name for name in count_jobs(result) if name.startswith(("evaluate_", "fetch_"))], (
        output
    )
    assert set(pd.read_csv(tmp_path / leaderboard)["origin"]) == {"theirs"}
    assert "org/better" in (tmp_path / "results/report/leaderboard.html").read_text()
    pair = "compare=org/better org/worse"
    result = run_snakemake(tmp_path, "compare", "--configfile", "mine.yaml", "--config", pair)
    assert result.returncode == 0, result.stdout + result.stderr
    comparison = pd.read_csv(tmp_path / "results/tables/compare.csv")
    assert set(comparison["scores"]) == {"theirs"} and (comparison["difference"] > 0).any()


def test_shared_results_give_same_scores(tmp_path):
    """Scores and ranks are the same, but for their origin; intervals need items, which are not read back."""
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
