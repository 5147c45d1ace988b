"""Read and judge the outputs of one prompt run.

In: the stored outputs. Out: a record and the items behind it.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(outputs: Path, record: Path, request: dict) -> None:
    from workflow_scripts.evaluation.prompts.requests import ReadingRequest
    from workflow_scripts.evaluation.prompts.scoring import score_prompt_run

    score_prompt_run(outputs, record, ReadingRequest.of(request))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.run),
            Path(snakemake.output.record),
            snakemake.params.request,
        )
