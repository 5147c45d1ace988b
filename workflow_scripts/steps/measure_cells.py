"""Score models on tasks with lm-eval's own definitions, as they are or after training on each.

In: the manifests of the models and of the tasks' datasets. Out: a record and the items behind it, for
each model and task. The states of a training to resume from lie beside the records, hidden.
"""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(
    models: list[Path],
    datasets: list[Path],
    records: list[Path],
    log: Path,
    version: str,
    request: dict[str, Any],
    *,
    last_try: bool = False,
) -> None:
    from workflow_scripts.core.in_turn import in_turn
    from workflow_scripts.grid.job import run_job
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.hub.mirror import mirror
    from workflow_scripts.settings.cells import CellsRequest

    asked = CellsRequest.of(request)
    each = len(records) // len(models)
    works = []
    for at, model in enumerate(models):
        own = records[at * each : (at + 1) * each]
        run = partial(run_job, model, datasets, own, log, asked, version=version, last_try=last_try)
        works.append((model, run))
    # Several read the same data.
    with mirror(hub_of(datasets[0])) if len(models) > 1 else nullcontext():
        in_turn(works)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.models],
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output.records],
            Path(snakemake.log[0]),
            snakemake.params.version,
            snakemake.params.request,
            last_try=snakemake.resources.tries_left == 0,
        )
