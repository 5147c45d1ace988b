"""Where the leaderboard's rows are not asked as the Open LLM Leaderboard asked: of its records alone."""

from dataclasses import replace

from workflow_scripts.paper.protocols import differences

TABLE = replace(
    differences.TABLE,
    name="suite_protocol",
    title="Where the suite is not asked as on the Open LLM Leaderboard",
    note=(
        "What the records of the rows say of their protocol, where that of the Open LLM Leaderboard is known to"
        " be another, or not known. Cells: a row on a task. Decides: whether a score of that leaderboard is"
        " another number than ours for it. What is not listed is as there."
    ),
)
