"""Run on imported scores alone, without a model, to the report and the leaderboard."""

import csv
import re

import pytest

from tests.workflow.snakemake import count_jobs, run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
harmony: {models: [], imported_scores: [theirs.csv], num_bootstrap: 20}
chunking: {checkpoints: []}
prompts: {models: []}
suite: {requests: none}
"""
MODELS = ("acme/Anvil-1B", "acme/Anvil-2B", "acme/Rocket-1B", "Qwen/Qwen2.5-0.5B")


def write_scores(folder):
    """Write a better model in every line, on tasks that the default config has not; and bits per byte of a text."""
    with (folder / "theirs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "task", "protocol", "metric", "value", "stderr"])
        for rank, model in enumerate(MODELS):
            for protocol in ("direct", "train_before_test"):
                for down, task in enumerate(("piqa", "winogrande", "boolq", "wic")):
                    value = 0.5 + 0.1 * rank + 0.01 * ((rank * (down + 1)) % 3)
                    writer.writerow(
                        [
                            model,
                            task,
                            protocol,
                            "acc_norm" if task == "piqa" else "acc",
                            value,
                            0.01,
                        ]
                    )
                writer.writerow([model, "my_text", protocol, "bits_per_byte", 1.5 - 0.1 * rank, ""])


def test_imported_scores_without_models(tmp_path):
    write_scores(tmp_path)
    (tmp_path / "none").mkdir()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    result = run_snakemake(tmp_path, "--configfile", "mine.yaml")
    output = result.stdout + result.stderr
    jobs = count_jobs(result)
    assert not [name for name in jobs if name.startswith(("evaluate_", "fetch_", "build_world"))], (
        output
    )
    for name in ("scores", "leaderboard", "agreement", "task_pair"):
        assert (tmp_path / f"results/tables/harmony_{name}.csv").stat().st_size > 100, name
        figure = "bump" if name == "leaderboard" else name
        assert (tmp_path / f"results/figures/harmony_{figure}.png").stat().st_size > 10_000, name
    with (tmp_path / "results/tables/harmony_scores.csv").open(newline="") as file:
        scores = list(csv.DictReader(file))
    assert {row["task"] for row in scores} == {"PIQA", "Winogrande", "BoolQ", "WiC"}
    assert {row["model"] for row in scores} == set(MODELS)
    page = (tmp_path / "results/report/index.html").read_text()
    (chapter,) = re.findall(r'<section id="harmony">(.*?)</section>', page, re.S)
    assert "mean rank correlation of two tasks" in chapter
    assert "0 models were measured" not in page
    board = (tmp_path / "results/report/leaderboard.html").read_text()
    assert all(model in board for model in MODELS)
    assert "Nothing to be done" in (
        (rerun := run_snakemake(tmp_path, "--configfile", "mine.yaml")).stdout + rerun.stderr
    )
