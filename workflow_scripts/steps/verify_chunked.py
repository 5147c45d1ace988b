"""Hold chunked checkpoints against their base models: parameters, exactness, the plan drawn as text.

In: the manifests of the checkpoints and of their base models. Out: for each what was found, as JSON; a
difference where there must be none is an error.
"""

from functools import partial
from pathlib import Path

from workflow_scripts.bridge.step import step


def verify(checkpoint: Path, model: Path, report: Path, request: dict) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.evaluation.parity import parity
    from workflow_scripts.settings.measures import VerifyRequest

    write_json(report, parity(checkpoint, model, VerifyRequest.of(request)))


def main(checkpoints: list[Path], models: list[Path], reports: list[Path], request: dict) -> None:
    from workflow_scripts.core.in_turn import in_turn

    triples = zip(checkpoints, models, reports, strict=True)
    in_turn((paths[0].parent, partial(verify, *paths, request)) for paths in triples)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.checkpoints],
            [Path(path) for path in snakemake.params.models],
            [Path(path) for path in snakemake.output],
            snakemake.params.request,
        )
