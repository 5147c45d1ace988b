"""Time a model in many chunk plans, each in turn with the unchanged model.

In: the manifests of the model and of MMLU. Out: a record and the rounds behind it.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: Path, record: Path, request: dict) -> None:
    from workflow_scripts.evaluation.plans import measure_latency
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.settings.measures import LatencyRequest

    measure_latency(model, hub_of(data), record, LatencyRequest.of(request))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.data),
            Path(snakemake.output.record),
            snakemake.params.request,
        )
