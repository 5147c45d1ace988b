"""Make the leaderboard's tab of the prompt runs."""

from pathlib import Path

from workflow_scripts.render.frames import cells, get_checkpoint_name
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab

_COLUMNS = [
    Column("run", "Run", "name"),
    Column("checkpoint", "Model", "choice"),
    Column("changed", "What changed", "text"),
    Column("micro", "Micro", "score", "Accuracy over all questions."),
    Column("macro", "Macro", "score", "Mean over the subjects.", shown=False),
    Column("baseline", "Baseline", "score", "The better of a constant and a random answer."),
    Column("format_met", "Format met", "score", "Outputs in the requested format."),
    Column("strict_share", "Strict", "score", "Correct answers in that format.", shown=False),
    Column("n", "n", "count", "Number of questions."),
    Column("difference", "Difference", "score", "In micro accuracy from the run before."),
    Column("p", "p", "number", "McNemar's exact test of that difference."),
    Column("published_micro", "Published", "score", "Run 4: its first 285 questions."),
]


def make_prompts_tab(runs: Path) -> Tab:
    return Tab(
        id="prompts",
        title="Prompt runs",
        about=(
            "MMLU under different prompts. Scores in percent ± standard error; a run at its baseline shows no"
            " knowledge. Published: Llama-3.2-1B-Instruct on the real MMLU."
        ),
        columns=_COLUMNS,
        rows=[row | {"checkpoint": get_checkpoint_name(row)} for row in cells(read_table(runs))],
        sort="run",
        search=("run", "checkpoint", "changed"),
    )
