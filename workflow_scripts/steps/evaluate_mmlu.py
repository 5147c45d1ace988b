"""Ask a checkpoint the questions of all 57 MMLU subjects, in lighteval's task as published.

In: the manifests of the checkpoint and of the dataset. Out: a record and the items behind it.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: Path, record: Path, version: str, request: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.core.finished import finish_once
    from workflow_scripts.core.records import whole_record
    from workflow_scripts.evaluation.mmlu import evaluate_mmlu
    from workflow_scripts.evaluation.scored_items import scored_beside
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.settings.mmlu import MmluRequest

    disable_progress_bars()  # the log is a file
    finish_once(
        lambda: evaluate_mmlu(model, hub_of(data), record, MmluRequest.of(request)),
        inputs=[model, data],
        outputs=[record.with_suffix(".parquet"), record],
        decides=[version, request],
        sound=lambda: whole_record(record),
        way=scored_beside(record),
    )


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.data),
            Path(snakemake.output.record),
            snakemake.params.version,
            snakemake.params.request,
        )
