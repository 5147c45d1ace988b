"""Say how every request for the leaderboard stands, a line each, at the end of the command.

In: the checks of the requests. Out: results/requests/submitted.txt, which the terminal shows.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(checks: Path) -> None:
    from workflow_scripts.bridge.run_lock import run_under_way
    from workflow_scripts.core.files import write_text
    from workflow_scripts.studies.suite.requests import lines, read_checks, requests

    said = lines(requests(read_checks(checks), run_under_way(Path(".snakemake"))))
    print("\n".join(said))
    write_text(checks.with_name("submitted.txt"), "\n".join(said) + "\n")


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.checks))
