"""`snakemake separate` in an empty folder: published models are told apart, and nothing is fetched or measured."""

from pathlib import Path

import pandas as pd
import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
PAIR = "separate=Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"


def test_two_published_models_need_an_empty_folder(tmp_path):
    report = tmp_path / "network.txt"
    forbidden = {
        "PYTHONPATH": str(Path(__file__).parent / "forbid_network"),
        "CHORUS_NETWORK_REPORT": str(report),
    }
    result = run_snakemake(tmp_path, "separate", "--config", PAIR, **forbidden)
    assert jobs_of(result) == {"build_grid": 2, "separate": 1}
    assert not report.exists(), report.read_text()
    table = pd.read_csv(tmp_path / "results/tables/separate.csv").query("task == 'mean of tasks'")
    assert table["difference"].round(3).tolist() == [0.065] * 2 + [0.006] * 3
    assert table["low"].gt(0).tolist() == [True, True, True, False, False]
    # The paper's run has both models, and has not measured them: they are not measured for this.
    paper = ["--configfile", str(ROOT / "config/paper.yaml")]
    planned = jobs_of(run_snakemake(tmp_path, "separate", "-n", *paper, "--config", PAIR))
    assert set(planned) <= {"build_grid", "separate"}
