"""What the plan's times rest on, in a sentence or two: estimates, a measured GPU, or the jobs that are done."""

from collections.abc import Sequence
from pathlib import Path

from workflow_scripts.core.words import many
from workflow_scripts.planning.gpu_report import read_report
from workflow_scripts.planning.jobs import PlannedJob
from workflow_scripts.planning.measured import Pace, devices
from workflow_scripts.planning.wording import HOUR, hours
from workflow_scripts.settings.cluster import Cluster

_EXPECTED = (
    "Expected is what the work will likely use, and the number to ask for, with a margin: its rates"
)


def basis(
    planned: Sequence[PlannedJob], jobs: Sequence[PlannedJob], pace: Pace, cluster: Cluster
) -> list[str]:
    """`planned` are the jobs before any of them was measured, `jobs` the same as they are priced now."""
    on_gpus = any(job.need.gpus for job in jobs)
    if pace.jobs:
        return [_learned(planned, jobs, pace, on_gpus)]
    if not on_gpus:
        return []
    if cluster.measured is None:
        return [
            f"{_EXPECTED} are calibrated on no GPU yet, they are estimates from what makers promise. `make"
            " bench-gpu` measures them (cluster.measured), and the first jobs of a run correct them: ask for"
            " the plan again."
        ]
    report = read_report(cluster.measured)
    return [
        f"{_EXPECTED} were measured on {report.device} ({cluster.measured}, {report.measured})."
    ]


def _learned(
    planned: Sequence[PlannedJob], jobs: Sequence[PlannedJob], pace: Pace, on_gpus: bool
) -> str:
    def whole(of: Sequence[PlannedJob]) -> str:
        return hours(sum(job.need.seconds * (job.need.gpus or not on_gpus) for job in of) / HOUR)

    where = ", ".join(devices(planned, Path())) or "this machine"
    return (
        f"Priced by the {many(pace.jobs, 'job')} that {'are' if pace.jobs > 1 else 'is'}"
        f" done here (on {where}): they count as long as they took, the others as long as that makes them"
        f" likely to take. Without them the plan was {whole(planned)} {'GPU ' * on_gpus}hours, and it is"
        f" {whole(jobs)}."
    )
