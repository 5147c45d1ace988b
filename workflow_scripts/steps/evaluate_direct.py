"""Score one model on one task as it is, with lm-eval's own task definition.

In: the manifests of the model and of the task's dataset. Out: a record and the items behind it.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(model: Path, data: Path, record: Path, **settings) -> None:
    from workflow_scripts.evaluation.direct import evaluate_direct
    from workflow_scripts.hub.manifest import hub_of

    evaluate_direct(model, hub_of(data), record, study="harmony", **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.data),
            Path(snakemake.output.record),
            task=snakemake.params.task,
            primary_metric=snakemake.params.primary_metric,
            shots=snakemake.params.shots,
            max_items=snakemake.params.max_items,
            seed=snakemake.params.seed,
            device=snakemake.params.device,
            dtype=snakemake.params.dtype,
            attention=snakemake.params.attention,
            batch_size=snakemake.params.batch_size,
        )
