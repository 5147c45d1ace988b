"""What a rule has measured of a model: the type of its request, the function, and what it writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.finished import finish_once
from workflow_scripts.evaluation.scored_items import scored_beside
from workflow_scripts.hub.manifest import hub_of
from workflow_scripts.settings.request import StepRequest


@dataclass(frozen=True)
class Measurement:
    """A module's own, by the name MEASUREMENT; steps/measure.py runs it.

    `measure` is given the model's manifest (all of them where it shows several), the hub folder, a path for each
    of the outputs that `writes` names, and the request. What `read` finds whole is kept: a job that was killed
    after it had finished takes it up again.
    """

    request: type[StepRequest]
    measure: Callable[..., Any]
    writes: tuple[str, ...] = ("record",)
    read: Callable[[Path], Any] | None = None
    of_several: bool = False

    def run(
        self,
        models: Sequence[Path],
        data: Sequence[Path],
        outputs: Mapping[str, Path],
        version: str,
        request: dict[str, Any],
    ) -> None:
        model = models if self.of_several else models[0]
        written = [outputs[name] for name in self.writes]

        def work() -> None:
            hub = hub_of([*data, *models][0])
            self.measure(model, hub, *written, self.request.of(request))

        read = self.read
        if read is None:
            work()
            return
        finish_once(
            work,
            inputs=[*models, *data],
            outputs=[path for one in written for path in (one.with_suffix(".parquet"), one)],
            version=version,
            request=request,
            sound=lambda: [read(path) for path in written],
            state=scored_beside(written[0]),
        )
