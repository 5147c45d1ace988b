"""Gather what the first tab of the leaderboard's page shows.

In: the leaderboard, what was found about it, the checks of the requests, and the records. Out: the tab
as JSON.
"""

from dataclasses import asdict
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    leaderboard: Path, found: Path, checks: Path, tab: Path, *, tasks: list[dict], shown_items: int
) -> None:
    import pandas as pd

    from workflow_scripts.core.files import write_json
    from workflow_scripts.studies.suite.board import suite_tab
    from workflow_scripts.studies.suite.leaderboard import read_leaderboard
    from workflow_scripts.studies.suite.requests import read_checks

    made = suite_tab(
        read_leaderboard(leaderboard),
        pd.read_csv(found),
        read_checks(checks),
        tasks,
        shown_items=shown_items,
    )
    write_json(tab, asdict(made))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.leaderboard),
            Path(snakemake.input.found),
            Path(snakemake.input.checks),
            Path(snakemake.output.tab),
            **snakemake.params.settings,
        )
