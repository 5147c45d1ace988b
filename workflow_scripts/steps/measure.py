"""Measure models, or ask them something, by the function that the rule names.

In: the manifests of the models and datasets. Out: what the function writes of each model, one after the
other, each file with its items beside it. A rule that names what reads a finished file, as `reader`, keeps
what is finished: a job that was killed resumes behind it, and one that runs again for another model's sake.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from workflow_scripts.bridge.step import step


def main(
    function: str,
    models: list[Path],
    data: list[Path],
    outputs: list[Path],
    version: str,
    request: dict,
    reader: str | None = None,
) -> None:
    """The function is told a request of the type that its `asked` has."""
    from datasets import disable_progress_bars

    from workflow_scripts.core.finished import finish_once
    from workflow_scripts.core.named import named
    from workflow_scripts.evaluation.scored_items import scored_beside
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.hub.mirror import mirror

    disable_progress_bars()  # the log is a file
    measure = named(function)
    hints = get_type_hints(measure)
    asked, hub = hints["asked"].of(request), hub_of(data[0])
    if "models" in hints:  # of all of them together
        measure(models, hub, *outputs, asked)
        return
    with mirror(hub):  # they read the same data
        for at, model in enumerate(models):
            # Snakemake lists the first file of every model, then the second of every model.
            written = outputs[at :: len(models)]
            work = partial(measure, model, hub, *written, asked)
            if reader is None:
                work()
                continue
            finish_once(
                work,
                inputs=[model, *data],
                outputs=[path for out in written for path in (out.with_suffix(".parquet"), out)],
                decides=[version, request],
                sound=partial(_all, named(reader), written),
                way=scored_beside(written[0]),
            )


def _all(read: Callable[[Path], Any], paths: list[Path]) -> None:
    for path in paths:
        read(path)


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.function,
            [Path(path) for path in snakemake.input if path not in snakemake.input.data],
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output if not path.endswith(".parquet")],
            snakemake.params.version,
            snakemake.params.request,
            snakemake.params.get("reader"),
        )
