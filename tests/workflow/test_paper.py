"""Test the report of a finished run: it is complete, and the same records give the same bytes."""

import json
import re
import shutil
import subprocess

import pytest

from tests.workflow.snakemake import SMALL, count_jobs, run_snakemake

pytestmark = pytest.mark.workflow

# Files with measured times, which differ between runs.
TIMED = ["chunking_latency", "chunking_quality", "numbers"]


def test_report_is_complete(finished):
    folder, result = finished
    assert "results/report/index.html" in result.stdout + result.stderr
    page = (folder / "results/report/index.html").read_text()
    for kind, suffix in (("table", "csv"), ("figure", "png")):
        stems = {path.stem for path in (folder / f"results/{kind}s").glob(f"*.{suffix}")}
        assert stems == set(re.findall(rf'id="{kind}-(\w+)"', page))
    assert re.findall(r'<section id="(\w+)">', page)[0] == "published"
    assert re.findall(r'<figure id="figure-(\w+)"', page)[0] == "published_agreement"
    for study in ("published", "harmony", "chunking", "prompts", "reproduction"):
        (chapter,) = re.findall(rf'<section id="{study}">(.*?)</section>', page, re.S)
        assert re.search(r"<p>[^<]*\d", chapter), f"{study} tells no number"


def test_reproduction_refuses_miniature_scores(finished):
    numbers = json.loads((finished[0] / "results/tables/numbers.json").read_text())
    refused = numbers["published.refused"]
    assert refused == numbers["published.numbers"] > 61 * 24 * 3


def test_same_records_give_same_report(copy):
    paths = [
        path
        for path in (copy / "results").rglob("*")
        if path.is_file() and (path.stem in TIMED or path.parent.name == "report")
    ]
    paths = [path for path in paths if path.parent.name in ("tables", "figures", "report")]
    before = {path: path.read_bytes() for path in paths}
    assert {path.suffix for path in before} >= {".csv", ".md", ".tex", ".pdf", ".png", ".html"}
    for path in before:
        path.unlink()
    result = run_snakemake(copy, *SMALL)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_deleted_record_is_measured_again(copy):
    """The record belongs to a request, so its job is planned after Snakemake's checkpoint."""
    table = copy / "results/tables/suite_leaderboard.csv"
    before = table.read_bytes()
    record = copy / "results/records/suite/few_shot/miniature--Pythia-0.1M~float32/gsm8k.json"
    record.unlink()
    jobs = count_jobs(run_snakemake(copy, "suite", *SMALL))
    assert jobs["evaluate_suite"] == 1 and "evaluate_direct" not in jobs
    assert record.exists() and table.read_bytes() == before


@pytest.mark.tex
def test_latex_compiles_every_table(finished, tmp_path):
    tables = sorted((finished[0] / "results/tables").glob("*.tex"))
    tables = [path for path in tables if path.stem != "numbers"]
    assert len(tables) > 12
    for path in tables:
        shutil.copy(path, tmp_path)
    inputs = "\n".join(rf"\input{{{path.name}}}\clearpage" for path in tables)
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage[paperwidth=200cm,paperheight=100cm]{geometry}"
        r"\usepackage{booktabs,longtable}\begin{document}" + inputs + r"\end{document}"
    )
    result = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert result.returncode == 0, result.stdout[-2000:]
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert "Missing character" not in log
    assert "Overfull" not in log
