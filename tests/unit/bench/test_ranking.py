"""The benchmark of the ranking study makes all that the study makes, up to the page."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_benchmark_makes_every_table_and_figure_and_the_page(tmp_path):
    command = [sys.executable, "-m", "bench.ranking", "--models", "5", "--keep", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    made = [path.relative_to(tmp_path / "results") for path in tmp_path.glob("results/*/*.png")]
    assert len(made) == result.stdout.count("\nfigure ")
    assert "5 models, all of it" in result.stdout
    assert (tmp_path / "results/report/leaderboard.html").stat().st_size > 100_000
