"""Build the leaderboard tab of the Harmony study: models ranked by PC1 after training on each task."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_scripts.render.frames import convert_rows
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab
from workflow_scripts.studies.ranking import grid_tables
from workflow_scripts.studies.ranking.leaderboard import describe_missing

# The tab ranks models by the first of these protocols that has scores.
_PROTOCOLS = (grid_tables.TRAINED, grid_tables.FEW_SHOT, grid_tables.DIRECT, grid_tables.CLIPPED)


def make_harmony_tab(
    leaderboard: Path, tasks: Sequence[Mapping[str, str]], names: Mapping[str, str]
) -> Tab:
    """Build the tab from the leaderboard table; `names` are the titles of the protocols."""
    table = read_table(leaderboard)
    shown, *others = [protocol for protocol in _PROTOCOLS if protocol in set(table["protocol"])]
    titles = {task["task"]: task["display_name"] for task in tasks}
    ranks = table.pivot(index="label", columns="protocol", values="rank")[others]
    models = table[table["protocol"] == shown].join(ranks.add_prefix("rank_"), on="label")
    rows = [row | {"note": describe_missing(row, titles)} for row in convert_rows(models)]
    return Tab(
        id="harmony",
        title="Train before test" if shown == grid_tables.TRAINED else "Ranking by PC1",
        about=(
            "Models ranked by PC1, 100 times the first principal component of the standardised"
            f" {names[shown]} scores. Scores in percent, ± standard error; higher is better."
        ),
        columns=[
            Column("label", "Model", "name"),
            Column("rank", "Rank", "count", "By PC1; none for models that lack too many tasks."),
            Column("rank_low", "Rank, low", "count", "95% interval of the rank."),
            Column("rank_high", "Rank, high", "count", "95% interval of the rank."),
            Column("pc1", "PC1", "number", f"Of the {names[shown]} scores."),
            *(
                Column(
                    f"rank_{name}",
                    f"Rank {names[name]}",
                    "count",
                    shown=name != grid_tables.CLIPPED,
                )
                for name in others
            ),
            *(
                Column(name, titles[name], "score", f"{task['metric']}, {names[shown]}.")
                for name, task in zip(titles, tasks, strict=True)
                if name in models and models[name].notna().any()
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
