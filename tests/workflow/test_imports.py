"""Test imported scores: tables and pages from a CSV file, lm-eval results, or another run's shared results."""

import re

import pandas as pd
import pytest

from bench.ranking import make_scores
from tests.records import write_lm_eval_results
from tests.workflow.snakemake import count_jobs, run_snakemake, write_changed_config

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
NOTHING = {
    "chunking": {"checkpoints": []},
    "prompts": {"models": []},
    "suite": {"requests": "none"},
}
# For each task, the shots, and the correct answers out of ten of the better and the worse model.
TASKS = {"arc_easy": (2, (9, 5)), "rte": (0, (8, 4)), "sst2": (0, (7, 6))}


def test_imported_scores_without_models(tmp_path):
    """The default target runs without evaluations, up to the report and the leaderboard, with the bench's scores."""
    make_scores(4).to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "none").mkdir()
    imported = {"models": [], "imported_scores": ["table.csv"], "num_bootstrap": 20}
    config = write_changed_config(tmp_path, **NOTHING, harmony=imported)
    result = run_snakemake(tmp_path, *config)
    jobs = count_jobs(result)
    assert not [name for name in jobs if name.startswith(("evaluate_", "fetch", "build_world"))]
    scores = pd.read_csv(tmp_path / "results/tables/harmony_scores.csv")
    assert scores["model"].nunique() == 4 and scores["task"].nunique() > 20
    tables = {path.stem for path in (tmp_path / "results/tables").glob("*.csv")}
    assert {"harmony_leaderboard", "harmony_agreement", "harmony_panel"} <= tables
    page = (tmp_path / "results/report/index.html").read_text()
    (chapter,) = re.findall(r'<section id="harmony">(.*?)</section>', page, re.S)
    assert "mean rank correlation of two tasks" in chapter
    assert "0 models were measured" not in page
    board = (tmp_path / "results/report/leaderboard.html").read_text()
    assert all(model in board for model in scores["model"])


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
    jobs = count_jobs(run_snakemake(tmp_path, leaderboard, *config))
    assert not [name for name in jobs if name.startswith(("evaluate_", "fetch"))]
    table = pd.read_csv(tmp_path / leaderboard)
    assert set(table["origin"]) == {"theirs"} and table["model"][0] == "org/better"


def test_shared_results_give_same_scores(copy, tmp_path):
    """Scores and ranks are the same except for their origin; intervals differ, because items are not reimported."""
    for folder in (copy, tmp_path):
        (folder / "none").mkdir()
    jobs = count_jobs(run_snakemake(copy, "share", *write_changed_config(copy, **NOTHING)))
    assert jobs == {"share": 1}
    imported = {"imports": [str(copy / "results/share")], "harmony": {"models": []}}
    config = write_changed_config(tmp_path, **NOTHING, **imported)
    tables = {"scores": ["task", "model", "value", "stderr"], "leaderboard": ["model", "rank"]}
    paths = [f"results/tables/harmony_{name}.csv" for name in tables]
    jobs = count_jobs(run_snakemake(tmp_path, *paths, *config))
    assert not {"evaluate_direct", "train_before_test"} & set(jobs)
    for path, columns in zip(paths, tables.values(), strict=True):
        own, other = (pd.read_csv(folder / path)[columns] for folder in (copy, tmp_path))
        assert len(own) > 3
        pd.testing.assert_frame_equal(own, other)
