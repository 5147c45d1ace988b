"""`snakemake published` in an empty folder: all figures of the published scores, and nothing fetched."""

from pathlib import Path

import pytest

from tests.workflow.snakemake import run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
NAMES = ("agreement", "categories", "compute", "task_pair")


def test_published_target_offline(tmp_path):
    report = tmp_path / "network.txt"
    result = run_snakemake(
        tmp_path,
        "published",
        PYTHONPATH=str(Path(__file__).parent / "forbid_network"),
        CHORUS_NETWORK_REPORT=str(report),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not report.exists(), report.read_text()
    for name in NAMES:
        for kind in ("csv", "md", "tex"):
            assert (tmp_path / f"results/tables/published_{name}.{kind}").stat().st_size
        for kind in ("pdf", "png"):
            assert (tmp_path / f"results/figures/published_{name}.{kind}").stat().st_size
    text = (tmp_path / "results/tables/published_agreement.md").read_text()
    assert "0.517" in text, "the mean agreement"
    names = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert names == {"results", "logs"}, "neither models nor data"
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "grids",
        "tables",
        "figures",
    }


def test_test_task_target(tmp_path):
    result = run_snakemake(tmp_path, "results/tables/test_task_newer.md")
    assert result.returncode == 0, result.stdout + result.stderr
    summary = run_snakemake(tmp_path, "--summary", "test_task").stdout
    for name in NAMES:
        assert f"results/tables/test_task_{name}.csv\t" in summary
        assert f"results/figures/test_task_{name}.png\t" in summary
