"""Put the scores of all studies and other people's into one table.

In: the tidy scores of each study, and imported ones. Out: results/scores.parquet and results/scores.csv.
"""

from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job


def main(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    from workflow_scripts.scores.tidy import merge_scores

    merge_scores(inputs, request, outputs)


if "snakemake" in globals():
    run_job(main, snakemake)
