"""The leaderboard: a tab for each study that has something to show."""

from pathlib import Path

from workflow_scripts.render.web.board import Board, read_tab
from workflow_scripts.settings.ranking import RankedTask
from workflow_scripts.studies.chunking.board import chunked_tab
from workflow_scripts.studies.harmony.board import harmony_tab
from workflow_scripts.studies.prompts.board import prompts_tab

_ABOUT = "Open language models under the same conditions. Choose a row to see what it is made of."
# A reader who is given the page alone must not take these for results.
_MINIATURE = (
    " This is the miniature world: its models are tiny, its questions generated, and its numbers say"
    " nothing about real models."
)


def leaderboard(inputs: dict[str, dict], *, source: str, seed: int, tasks: list[dict]) -> Board:
    """`inputs` has the files of each tab by the names its function knows them by; none, no tab."""
    tabs = {
        "suite": lambda files: read_tab(Path(files["tab"])),
        "harmony": lambda files: harmony_tab(
            **files, tasks=[RankedTask.model_validate(task) for task in tasks]
        ),
        "prompts": lambda files: prompts_tab(**files),
        "chunked": lambda files: chunked_tab(**files),
    }
    return Board(
        title="Chorus leaderboard",
        about=_ABOUT + (_MINIATURE if source == "miniature" else ""),
        tabs=[make(inputs[name]) for name, make in tabs.items() if inputs.get(name)],
        report="index.html",
        provenance={
            "Models and data": "miniature world" if source == "miniature" else "Hugging Face hub",
            "Seed": str(seed),
        },
    )
