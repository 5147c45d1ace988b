"""Score a model on tasks with lm-eval's own definitions, as it is or after training on each.

In: the manifests of the model and of the tasks' datasets. Out: a record and the items behind it, for each
task. The states of a training to resume from lie beside the records, hidden.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(
    model: Path,
    datasets: list[Path],
    records: list[Path],
    log: Path,
    version: str,
    request: dict[str, Any],
    *,
    is_last_try: bool = False,
) -> None:
    from workflow_scripts.evaluation.cells import CellsRequest
    from workflow_scripts.grid.job import run_job

    cells = CellsRequest.of(request)
    # A kill leaves this file. A last try after a kill does not try.
    running = records[0].with_name(f".{records[0].stem}.running")
    gives_up = is_last_try and running.exists()
    running.parent.mkdir(parents=True, exist_ok=True)
    running.touch()
    try:
        run_job(model, datasets, records, log, cells, version=version, gives_up=gives_up)
    finally:
        running.unlink(missing_ok=True)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output.records],
            Path(snakemake.log[0]),
            snakemake.params.version,
            snakemake.params.request,
            is_last_try=snakemake.resources.tries_left == 0,
        )
