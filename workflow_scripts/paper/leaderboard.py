"""Write the leaderboard page, with a tab for submitted models and a tab for train-before-test."""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import write_text
from workflow_scripts.render.web.board import render_board
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.suite.board import make_suite_tab, render_texts

_ABOUT = {
    # Readers who see only the page must not take these for real results.
    "miniature": (
        "The miniature world: its models are tiny, its questions generated, and its numbers say nothing about"
        " real models."
    ),
    "huggingface": "Open language models under the same conditions.",
    None: "Imported scores.",
}


def main(
    tables: list[Path],
    baselines: Path | None,
    page: Path,
    source: str | None,
    tasks: list[dict[str, Any]],
    protocols: dict[str, str],
    suite: dict[str, Any],
) -> None:
    """Write the page from the CSV files of the tables that exist.

    `source` is None if all scores are imported; `protocols` are the names of protocols.
    """
    by_name = {path.stem: path for path in tables}
    tabs = []
    texts = {}
    if "suite_leaderboard" in by_name:
        tabs.append(make_suite_tab(by_name["suite_leaderboard"], baselines, suite))
        texts = render_texts(suite)
    if "harmony_leaderboard" in by_name:
        tabs.append(make_harmony_tab(by_name["harmony_leaderboard"], tasks, protocols))
    write_text(page, render_board("Chorus leaderboard", _ABOUT[source], tabs, texts))


if "snakemake" in globals():
    run_job(main, snakemake)
