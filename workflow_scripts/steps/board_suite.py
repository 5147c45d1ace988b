"""Gather what the first tab of the leaderboard's page shows.

In: the leaderboard, what was found about it, the checks of the requests, and the records. Out: the tab
as JSON.
"""

from dataclasses import asdict
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(leaderboard: Path, found: Path, checks: Path, tab: Path, request: dict) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.settings.suite_tables import SuiteBoard
    from workflow_scripts.studies.suite import checks as findings
    from workflow_scripts.studies.suite import leaderboard as board
    from workflow_scripts.studies.suite.board import suite_tab
    from workflow_scripts.studies.suite.requests import read_checks

    tables = board.TABLE.read(leaderboard), findings.TABLE.read(found)
    write_json(tab, asdict(suite_tab(*tables, read_checks(checks), SuiteBoard.of(request))))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.leaderboard),
            Path(snakemake.input.found),
            Path(snakemake.input.checks),
            Path(snakemake.output.tab),
            snakemake.params.request,
        )
