"""Say of each request of the leaderboard whether it is accepted, or why it is refused.

In: the checks of all requests. Out: results/requests/submitted.txt, which the terminal shows.
"""

from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job


def main(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    from workflow_scripts.studies.suite.requests import submit

    submit(inputs, request, outputs)


if "snakemake" in globals():
    run_job(main, snakemake)
