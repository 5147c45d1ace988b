"""`snakemake separate` in an empty folder: published models are told apart, and nothing is fetched or measured."""

from pathlib import Path

import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake

pytestmark = pytest.mark.workflow
PAIR = "separate=Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"


def test_two_published_models_need_an_empty_folder_and_the_answer_stands_in_the_terminal(tmp_path):
    report = tmp_path / "network.txt"
    forbidden = {
        "PYTHONPATH": str(Path(__file__).parent / "forbid_network"),
        "CHORUS_NETWORK_REPORT": str(report),
    }
    result = run_snakemake(tmp_path, "separate", "--config", PAIR, **forbidden)
    assert jobs_of(result) == {"separate": 1}
    assert not report.exists(), report.read_text()
    said = result.stdout + result.stderr
    assert "# Is Qwen/Qwen2.5-7B better than meta-llama/Llama-3.1-8B?" in said
    assert "Qwen/Qwen2.5-7B is ahead of meta-llama/Llama-3.1-8B by 6.5 points. Settled:" in said
    assert "other items and both trained again" in said
    assert "GPU hours" in said
    made = {str(path.relative_to(tmp_path)) for path in (tmp_path / "results").rglob("*.*")}
    assert made == {f"results/tables/separate.{form}" for form in ("csv", "md", "tex")}
    # The paper's run has both models, and has not measured them: they are not measured for this.
    paper = ["--configfile", str(ROOT / "config/paper.yaml")]
    assert jobs_of(run_snakemake(tmp_path, "separate", "-n", *paper, "--config", PAIR)) == {
        "separate": 1
    }
