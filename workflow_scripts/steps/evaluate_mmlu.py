"""Ask a checkpoint the questions of all 57 MMLU subjects, in lighteval's task as published.

In: the manifests of the checkpoint and of the dataset. Out: a record and the items behind it.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(model: Path, data: Path, record: Path, settings: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.evaluation.mmlu import evaluate_mmlu
    from workflow_scripts.hub.manifest import hub_of

    disable_progress_bars()  # the log is a file
    evaluate_mmlu(model, hub_of(data), record, **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.data),
            Path(snakemake.output.record),
            snakemake.params.settings,
        )
