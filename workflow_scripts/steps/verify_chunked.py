"""Hold a chunked checkpoint against its base model: parameters, exactness, the plan drawn as text.

In: the manifests of the checkpoint and of its base model. Out: what was found, as JSON; a difference where
there must be none is an error.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(checkpoint: Path, model: Path, report: Path, request: dict[str, Any]) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.evaluation.parity import parity
    from workflow_scripts.evaluation.requests import VerifyRequest

    write_json(report, parity(checkpoint, model, VerifyRequest.of(request)))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.checkpoint),
            Path(snakemake.input.model),
            Path(snakemake.output.report),
            snakemake.params.request,
        )
