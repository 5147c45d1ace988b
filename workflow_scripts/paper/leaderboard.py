"""Write the leaderboard page: a tab for each study that has something to show."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_text
from workflow_scripts.paper.requests import LeaderboardPage
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.web.board import render_board
from workflow_scripts.studies.chunking.board import make_chunked_tab
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.prompts.board import make_prompts_tab
from workflow_scripts.studies.suite.board import make_suite_tab, render_texts

_ABOUT = {
    # A reader who is given the page alone must not take these for results.
    "miniature": (
        "The miniature world: its models are tiny, its questions generated, and its numbers say nothing about"
        " real models."
    ),
    "huggingface": "Open language models under the same conditions.",
    None: "Scores from elsewhere.",
}


def write_leaderboard(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    page = LeaderboardPage.of(request)
    tabs = []
    texts = {}
    if "suite_leaderboard" in inputs:
        csvs = inputs.one("suite_leaderboard"), inputs.one("suite_checks")
        tabs.append(make_suite_tab(*csvs, page.suite))
        texts = render_texts(page.suite)
    if "harmony_leaderboard" in inputs:
        csvs = inputs.one("harmony_leaderboard"), inputs.one("harmony_components")
        tabs.append(make_harmony_tab(*csvs, page.tasks, page.protocols))
    if "prompt_runs" in inputs:
        tabs.append(make_prompts_tab(inputs.one("prompt_runs")))
    chunked_tables = ("chunking_plans", "training_stages", "mmlu_by_subject")
    chunked = [inputs.get(name, []) for name in chunked_tables]
    if any(chunked):
        tabs.append(make_chunked_tab(*chunked))
    write_text(
        outputs["page"], render_board("Chorus leaderboard", _ABOUT[page.source], tabs, texts)
    )
