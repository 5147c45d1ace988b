"""Test that a run with one failed cell per study and protocol still writes every table, figure and page."""

import json
import re

import pytest

from tests.workflow.snakemake import SMALL, run_snakemake
from workflow_scripts.core.files import write_json
from workflow_scripts.core.items import write_items

pytestmark = pytest.mark.workflow

REASON = "the weights <b>melted</b>"
# For each study and protocol, a record of the small config, and a table that marks it as missing.
BROKEN = {
    "harmony, direct": ("harmony/direct/miniature--Llama-1.4M/mnli", "harmony_scores"),
    "harmony, trained": (
        "harmony/train_before_test/miniature--Pythia-0.1M/arc_easy",
        "harmony_leaderboard",
    ),
    "harmony, few-shot": ("harmony/few_shot/miniature--Llama-1.4M/mnli", "harmony_leaderboard"),
    "texts": ("corpora/direct/miniature--Llama-1.4M/pins", "harmony_bits"),
    "chunking": ("chunking/perplexity/miniature--Qwen2-1M-Instruct/magpie", "chunking_perplexity"),
    "latency": ("latency/latency/miniature--Qwen2-1M-Instruct/mmlu", "chunking_latency"),
    "training": (
        "training/perplexity/miniature--Qwen2-1M-Instruct@k2m12+cpt/wikitext",
        "training_stages",
    ),
    "mmlu": ("mmlu/few_shot/miniature--Qwen2-1M-Instruct@k2m6+cpt/mmlu_helm", "mmlu_by_subject"),
    "prompts": ("prompts/prompt_run/miniature--Llama-1.4M-Instruct/run8", "prompt_runs"),
    "suite": ("suite/few_shot/miniature--Pythia-0.1M~float32/gsm8k", "suite_leaderboard"),
}


def break_cell(folder, name: str) -> str:
    """Write a failed record, without the file that makes the next run retry it."""
    record = f"results/records/{name}.json"
    path = folder / record
    assert path.is_file(), f"the small config makes no {record}"
    write_items(path.with_suffix(".parquet"), [])
    write_json(path, {"broken": {"record": record, "reason": REASON, "log": f"logs/{name}.log"}})
    return record


def read_outputs(folder) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace")
        for part in ("tables", "figures", "report")
        for path in (folder / "results" / part).rglob("*")
        if path.is_file()
    }


def check_pages(folder, records: list[str]) -> None:
    report = (folder / "results/report/index.html").read_text()
    provenance = json.loads((folder / "results/report/provenance.json").read_text())
    assert {failed["record"] for failed in provenance["broken"]} == set(records)
    for record in records:
        assert record.replace("+", "&#43;") in report or record in report, record
    assert "<b>melted</b>" not in report
    assert re.search(r"Failed cells: .*?listed below", report, re.S)
    assert (folder / "results/report/leaderboard.html").stat().st_size > 100_000


def test_broken_cell_in_each_study(copy):
    before = read_outputs(copy)
    records = [break_cell(copy, name) for name, _ in BROKEN.values()]
    result = run_snakemake(copy, *SMALL)
    assert result.returncode == 0, result.stdout + result.stderr
    assert read_outputs(copy).keys() == before.keys()
    for name, (_, table) in BROKEN.items():
        text = (copy / f"results/tables/{table}.md").read_text()
        assert text.count("—") > before[f"results/tables/{table}.md"].count("—"), name
    check_pages(copy, records)
