"""Make the leaderboard's tab of the Harmony study: models by PC1 after training on each task."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_scripts.render.frames import Cells, cells
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.leaderboard import what_is_missing

# The tab shows the ranking by the first of these protocols that was measured.
_PROTOCOLS = (frame.TRAINED, frame.FEW_SHOT, frame.DIRECT)


def make_harmony_tab(
    leaderboard: Path, components: Path, tasks: Sequence[RankedTask], names: Mapping[str, str]
) -> Tab:
    """Make the tab from the tables; `names` are the titles of the protocols."""
    table = cells(read_table(leaderboard))
    measured = {row["protocol"] for row in table}
    shown = next((protocol for protocol in _PROTOCOLS if protocol in measured), frame.DIRECT)
    others = [one for one in (*_PROTOCOLS, frame.FLOORED) if one in measured and one != shown]
    ranks = {(row["protocol"], row["label"]): row["rank"] for row in table}
    titles = {task.task: task.display_name for task in tasks}
    rows = []
    for row in table:
        if row["protocol"] != shown:
            continue
        other_ranks = {f"rank_{one}": ranks.get((one, row["label"])) for one in others}
        rows.append(row | other_ranks | {"note": what_is_missing(row, titles)})
    share = _describe_share(shown, cells(read_table(components)))
    return Tab(
        id="harmony",
        title="Train before test" if shown == frame.TRAINED else "Ranking by PC1",
        about=(
            "Models ranked by PC1, 100 times the first principal component of the standardised scores,"
            f" {frame.EXPLAINED[shown]}.{share} Scores in percent, ± standard error; higher is better."
        ),
        columns=[
            Column("label", "Model", "name"),
            Column("rank", "Rank", "count", "By PC1; none for models that lack too many tasks."),
            Column("rank_low", "Rank, low", "count", "95% interval of the rank."),
            Column("rank_high", "Rank, high", "count", "95% interval of the rank."),
            Column("pc1", "PC1", "number", f"Of the {names[shown]} scores."),
            *(
                Column(f"rank_{one}", f"Rank {names[one]}", "count", shown=one != frame.FLOORED)
                for one in others
            ),
            *(
                Column(task.task, task.display_name, "score", f"{task.metric}, {names[shown]}.")
                for task in tasks
                if any(row.get(task.task) is not None for row in rows)
            ),
            Column("kind", "Kind", "choice", shown=False),
            Column("family", "Family", "choice", shown=False),
            Column("parameters", "Parameters", "count"),
            Column("origin", "Origin", "choice", "Own runs, or the folder of an import."),
            Column("note", "Note", "text", shown=any(row["note"] for row in rows)),
        ],
        rows=rows,
        sort="rank",
        search=("label", "family"),
    )


def _describe_share(protocol: str, components: list[Cells]) -> str:
    for row in components:
        is_first = (row["protocol"], row["component"]) == (protocol, frame.FIRST_COMPONENT)
        if is_first and row["share"] is not None:
            interval = ""
            if row["low"] is not None and row["high"] is not None:
                interval = f" (95%: {100 * row['low']:.0f} to {100 * row['high']:.0f})"
            return f" It holds {100 * row['share']:.0f}% of their variance{interval}."
    return ""
