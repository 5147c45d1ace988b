"""Run with `imports` alone: results of lm-eval, or shared by another run, become scores and tables."""

import json

import pandas as pd
import pytest

from tests.workflow.snakemake import jobs_of, run_snakemake, with_config

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
imports: [theirs]
harmony: {models: [], bootstrap_draws: 20}
chunking: {checkpoints: []}
prompts: {models: []}
suite: {requests: none}
"""
# By task: examples, right answers of ten for the better model and the worse name.
TASKS = {"arc_easy": (2, (9, 5)), "rte": (0, (8, 4)), "sst2": (0, (7, 6))}


def write_results(folder, model: str, task: str, right: int) -> None:
    """Ten questions with two answers, of which the first `right` are answered rightly."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = [
        {
            "doc_id": at,
            "doc": {"question": f"q{at}", "sentence": f"q{at}"},
            "target": at % 2,
            "arguments": {
                choice: {"arg_0": f"q{at}", "arg_1": choice} for choice in (" no", " yes")
            },
            "prompt_hash": f"{at}" * 64,
            "resps": [],
            "filtered_resps": [
                [str(-1.0 - (choice != (at + (at >= right)) % 2)), "False"] for choice in (0, 1)
            ],
            "filter": "none",
            "metrics": ["acc"],
            "acc": float(at < right),
        }
        for at in range(10)
    ]
    content = {
        "results": {task: {"acc,none": right / 10, "acc_stderr,none": 0.1}},
        "n-samples": {task: {"effective": 10}},
        "n-shot": {task: TASKS[task][0]},
        "config": {"model_dtype": "torch.bfloat16"},
        "model_name": model,
        "lm_eval_version": "0.4.13",
    }
    (folder / f"results_{task}.json").write_text(json.dumps(content))
    (folder / f"samples_{task}_{task}.jsonl").write_text("\n".join(map(json.dumps, samples)))


def test_imported_results_are_ranked_and_compared(tmp_path):
    models = ("org/better", "org/worse")
    for at, model in enumerate(models):
        for task, (_, right) in TASKS.items():
            write_results(tmp_path / "theirs" / model, model, task, right[at])
    (tmp_path / "none").mkdir()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    ranked = "results/tables/harmony_leaderboard.csv"
    targets = (ranked, "results/report/leaderboard.html")
    result = run_snakemake(tmp_path, *targets, "--configfile", "mine.yaml")
    output = result.stdout + result.stderr
    assert not [name for name in jobs_of(result) if name.startswith(("evaluate_", "fetch_"))], (
        output
    )
    assert set(pd.read_csv(tmp_path / ranked)["origin"]) == {"theirs"}
    assert "org/better" in (tmp_path / "results/report/leaderboard.html").read_text()
    pair = "separate=org/better org/worse"
    result = run_snakemake(tmp_path, "separate", "--configfile", "mine.yaml", "--config", pair)
    assert result.returncode == 0, result.stdout + result.stderr
    compared = pd.read_csv(tmp_path / "results/tables/separate.csv")
    assert set(compared["scores"]) == {"theirs"} and (compared["difference"] > 0).any()


def test_shared_results_give_the_same_tables(tmp_path):
    """Before and after training; only whose scores they are is another."""
    here, there = tmp_path / "here", tmp_path / "there"
    tables = [
        f"results/tables/harmony_{name}.csv" for name in ("scores", "leaderboard", "agreement")
    ]
    nothing = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}
    for folder in (here, there):
        (folder / "none").mkdir(parents=True)
    config = with_config(here, **nothing, suite={"requests": "none"})
    result = run_snakemake(here, "share", *tables, *config)
    assert jobs_of(result)["train_before_test"] == 4, result.stdout + result.stderr
    shared = here / "results/share"
    without = {"imports": [str(shared)], "harmony": {"models": []}, "suite": {"requests": "none"}}
    result = run_snakemake(there, *tables, *with_config(there, **nothing, **without))
    assert set(jobs_of(result)) & {"evaluate_direct", "train_before_test"} == set()
    for name in tables:
        own, theirs = (pd.read_csv(folder / name) for folder in (here, there))
        assert len(own) > 3
        of_others = ["origin", "origins", "label"]
        own, theirs = (table.drop(columns=of_others, errors="ignore") for table in (own, theirs))
        pd.testing.assert_frame_equal(own, theirs)
