"""Score one model on one task as it is, with lm-eval's own task definition.

In: the manifests of the model and of the task's dataset. Out: a record and the items behind it.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(model: Path, data: Path, record: Path, settings: dict) -> None:
    from workflow_scripts.evaluation.direct import evaluate_direct
    from workflow_scripts.hub.manifest import hub_of

    evaluate_direct(model, hub_of(data), record, study="harmony", **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.data),
            Path(snakemake.output.record),
            snakemake.params.settings,
        )
