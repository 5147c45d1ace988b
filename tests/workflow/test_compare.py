"""Test `snakemake compare` in an empty folder, on published models and result folders, without fetching."""

from pathlib import Path

import pandas as pd
import pytest

from tests.records import write_lm_eval_results
from tests.workflow.snakemake import count_jobs, run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
PAIR = "compare=Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"


def test_compare_published_models(tmp_path):
    report = tmp_path / "network.txt"
    environment = {
        "PYTHONPATH": str(Path(__file__).parent / "forbid_network"),
        "CHORUS_NETWORK_REPORT": str(report),
    }
    result = run_snakemake(tmp_path, "compare", "--config", PAIR, **environment)
    assert count_jobs(result) == {"build_grid": 2, "compare": 1}
    assert not report.exists(), report.read_text()
    table = pd.read_csv(tmp_path / "results/tables/compare.csv").query("task == 'mean of tasks'")
    assert table["difference"].round(3).tolist() == [0.065] * 2 + [0.006] * 3
    assert table["low"].gt(0).tolist() == [True, True, True, False, False]


def test_compare_result_folders(tmp_path):
    for name, right in (("a", 9), ("b", 3)):
        write_lm_eval_results(tmp_path / "out" / name, f"org/{name}", "arc_easy", right)
    result = run_snakemake(tmp_path, "compare", "--config", "compare=out/a out/b")
    assert count_jobs(result) == {"compare": 1}
    assert "out/a is better: 60.00 points" in result.stdout + result.stderr
