"""Several measurements, one after the other in one process: of several models, or asked of one in several ways."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.finished import finish_once
from workflow_scripts.core.in_turn import in_turn
from workflow_scripts.core.named import named
from workflow_scripts.evaluation.scored_items import scored_beside
from workflow_scripts.hub.manifest import hub_of
from workflow_scripts.hub.mirror import mirror


def measure_each(
    measure: Callable[..., Any],
    models: Sequence[Path],
    requests: Sequence[Any],
    data: Sequence[Path],
    outputs: Sequence[Path],
    *,
    version: str,
    reader: str | None,
) -> None:
    """Each into its own of the outputs: the first of every measurement, then the second of every one.

    With a reader, what is finished is kept: a job that was killed resumes behind it, and so does one that
    runs again for the sake of another measurement. One that fails leaves the others to be made, and its
    error is the job's.
    """
    hub = hub_of(data[0])
    jobs = [(model, asked) for asked in requests for model in models]
    works: list[tuple[Path, Callable[[], Any]]] = []
    with mirror(hub):  # they read the same data
        for at, (model, asked) in enumerate(jobs):
            written = outputs[at :: len(jobs)]
            work = partial(measure, model, hub, *written, asked)
            if reader is not None:
                work = partial(
                    finish_once,
                    work,
                    inputs=[model, *data],
                    outputs=[p for out in written for p in (out.with_suffix(".parquet"), out)],
                    decides=[version, asked.as_params()],
                    sound=partial(_all, named(reader), written),
                    way=scored_beside(written[0]),
                )
            works.append((written[0], work))
        in_turn(works)


def _all(read: Callable[[Path], Any], paths: Sequence[Path]) -> None:
    for path in paths:
        read(path)
