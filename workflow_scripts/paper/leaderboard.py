"""The leaderboard: a tab for each study that has something to show."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_text
from workflow_scripts.paper.requests import LeaderboardPage
from workflow_scripts.render.citations import CitedWork, bibliography, read_works
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.web.board import Board, read_tab
from workflow_scripts.render.web.page import leaderboard_page
from workflow_scripts.studies.chunking.board import chunked_tab
from workflow_scripts.studies.harmony.board import harmony_tab
from workflow_scripts.studies.prompts.board import prompts_tab
from workflow_scripts.studies.suite.about import describe_suite

_ABOUT = "Open language models under the same conditions. Choose a row to see what it is made of."
# A reader who is given the page alone must not take these for results.
_MINIATURE = (
    " This is the miniature world: its models are tiny, its questions generated, and its numbers say"
    " nothing about real models."
)

CITATIONS = "citations"
_SOURCES = {
    "miniature": "miniature world",
    "huggingface": "Hugging Face hub",
    None: "scores from elsewhere",
}


def write_leaderboard(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    """What an input's name begins with is the tab that it is for; citations are for all."""
    tabs: dict[str, dict[str, Any]] = {}
    for name, files in inputs.items():
        if name == CITATIONS:
            continue
        tab, _, what = name.partition("_")
        tabs.setdefault(tab, {})[what] = files
    board = leaderboard(
        {tab: Inputs(files) for tab, files in tabs.items()},
        LeaderboardPage.of(request),
        read_works(inputs.one(CITATIONS)),
    )
    write_text(outputs["page"], leaderboard_page(board))


def leaderboard(
    inputs: dict[str, Inputs],
    request: LeaderboardPage,
    works: Sequence[CitedWork] = (),
) -> Board:
    """The tabs of which there are files, each with the works that it rests on."""
    tabs = {
        "suite": lambda files: read_tab(files.one("tab")),
        "harmony": lambda files: harmony_tab(
            files.one("leaderboard"),
            files.one("components"),
            files.one("scores"),
            request.tasks,
            request.protocols,
            files.get("imports", ()),
        ),
        "prompts": lambda files: prompts_tab(
            files.one("runs"), files.one("by_subject"), files["records"]
        ),
        "chunked": lambda files: chunked_tab(**files),
    }
    return Board(
        title="Chorus leaderboard",
        about=_ABOUT + (_MINIATURE if request.source == "miniature" else ""),
        tabs=[
            replace(
                make(inputs[name]),
                rests_on=bibliography(works, request.rests_on.get(name, ())),
            )
            for name, make in tabs.items()
            if name in inputs
        ],
        report="index.html",
        texts=describe_suite(request.suite) if request.suite and "suite" in inputs else [],
        provenance={
            "Models and data": _SOURCES[request.source],
            "Seed": str(request.seed),
        },
    )
