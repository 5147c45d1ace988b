"""What a whole run will cost: jobs, hours, memory, disk, download, and the longest chain."""

import csv
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workflow_scripts.core.words import many
from workflow_scripts.planning.cautions import remarks
from workflow_scripts.planning.hours_by_model import hours_by_model, lines_by_model
from workflow_scripts.planning.jobs import LIGHT, PlannedJob, rule_of
from workflow_scripts.planning.wording import GB, HOUR, clock, days, gigabytes, hours
from workflow_scripts.settings.cluster import Cluster

_AT_A_TIME = (1, 8, 32, 128)
_COLUMNS = 100


@dataclass(frozen=True)
class Row:
    """The jobs of one rule of a study."""

    study: str
    rule: str
    jobs: int
    done: int
    gpu_hours: float
    cpu_hours: float
    longest_hours: float
    asked_hours: float  # of the job that asks for most
    mem_gb: float
    gpus: int
    gpu_gb: float
    disk_gb: float
    download_gb: float
    tokens: int


def rows(jobs: Sequence[PlannedJob]) -> list[Row]:
    """In the order in which the rules are first needed."""
    grouped: dict[tuple[str, str], list[PlannedJob]] = {}
    for job in jobs:
        if job.need.mem_mb:
            grouped.setdefault((job.study, rule_of(job)), []).append(job)
    studies = list(dict.fromkeys(study for study, _ in grouped))
    ordered = sorted(grouped, key=lambda key: (studies.index(key[0]), key[1] == LIGHT))
    return [_row(*key, grouped[key]) for key in ordered]


def _row(study: str, rule: str, jobs: list[PlannedJob]) -> Row:
    needs = [job.need for job in jobs]
    return Row(
        study,
        rule,
        jobs=len(jobs),
        done=sum(job.is_done for job in jobs),
        gpu_hours=sum(need.seconds * need.gpus for need in needs) / HOUR,
        cpu_hours=sum(job.need.seconds * job.threads for job in jobs) / HOUR,
        longest_hours=max(need.seconds for need in needs) / HOUR,
        asked_hours=max(job.asked_minutes for job in jobs) / 60,
        mem_gb=max(need.mem_mb for need in needs) / GB,
        gpus=max(need.gpus for need in needs),
        gpu_gb=max(need.gpu_mb for need in needs) / GB,
        disk_gb=sum(need.disk_mb for need in needs) / GB,
        download_gb=sum(need.download_mb for need in needs) / GB,
        tokens=sum(need.tokens for need in needs),
    )


def longest_chain(jobs: Sequence[PlannedJob]) -> tuple[float, list[PlannedJob]]:
    """Seconds on unlimited machines, and the jobs on the way; jobs come behind those they wait for."""
    ends: list[float] = []
    before: list[int | None] = []
    for job in jobs:
        last = max(job.after, key=ends.__getitem__, default=None)
        before.append(last)
        ends.append(job.need.seconds + (0 if last is None else ends[last]))
    if not jobs:
        return 0.0, []
    latest = max(range(len(jobs)), key=ends.__getitem__)
    seconds, way = ends[latest], []
    place: int | None = latest
    while place is not None:
        way.append(jobs[place])
        place = before[place]
    return seconds, way[::-1]


def as_csv(table: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(table[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**asdict(row), **_rounded(row)} for row in table)
    return text.getvalue()


def as_json(jobs: Sequence[PlannedJob]) -> dict[str, Any]:
    table = rows(jobs)
    seconds, way = longest_chain(jobs)
    return {
        "rows": [{**asdict(row), **_rounded(row)} for row in table],
        "longest_chain": {
            "hours": round(seconds / HOUR, 4),
            "jobs": [job.outputs[0] for job in way if job.outputs],
        },
        "gpu_hours_by_model": {
            model: round(value, 4) for model, value in hours_by_model(jobs).items()
        },
        "gpu_hours_by_together": {
            way: round(value, 4) for way, value in gpu_hours_by_way(jobs).items()
        },
    }


def _rounded(row: Row) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(row).items() if type(value) is float}


_HEADER = (
    *("study", "rule", "jobs", "done", "GPU h", "CPU h"),
    *("longest", "memory", "GPU mem", "disk"),
)
_WIDTHS = (10, 25, 5, 5, 8, 7, 8, 7, 9, 7)


def as_text(jobs: Sequence[PlannedJob], cluster: Cluster, rests_on: Sequence[str] = ()) -> str:
    """For a person who has to ask for hours; a hundred columns. `rests_on` says what the times rest on."""
    table = rows(jobs)
    lines = [_line(_HEADER), "-" * len(_line(_HEADER))]
    previous = None
    for row in table:
        study = row.study if row.study != previous else ""
        previous = row.study
        lines.append(_line((study, row.rule, *_cells(row))))
    lines += ["", *_totals(jobs, table, cluster, rests_on)]
    for said in remarks(jobs, cluster):
        lines += ["", *textwrap.wrap(said, _COLUMNS)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    padded = [
        f"{cell:<{width}}" if at < 2 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return " ".join(padded)


def _cells(row: Row) -> tuple[str, ...]:
    cards = f"{row.gpus} x " if row.gpus > 1 else ""
    return (
        f"{row.jobs:,}",
        f"{row.done:,}",
        hours(row.gpu_hours) if row.gpus else "",
        hours(row.cpu_hours),
        clock(row.longest_hours),
        gigabytes(row.mem_gb),
        f"{cards}{gigabytes(row.gpu_gb)}" if row.gpus else "",
        gigabytes(row.disk_gb + row.download_gb * (row.disk_gb == 0)),
    )


def _totals(
    jobs: Sequence[PlannedJob], table: Sequence[Row], cluster: Cluster, rests_on: Sequence[str]
) -> list[str]:
    gpu_hours = sum(row.gpu_hours for row in table)
    left = [job for job in jobs if not job.is_done]
    left_hours = sum(job.need.seconds * job.need.gpus for job in left) / HOUR
    asked = sum(job.asked_minutes * job.need.gpus for job in jobs) / 60
    seconds, way = longest_chain(jobs)
    count = sum(row.jobs for row in table)
    lines = [
        f"{count:,} jobs, {sum(row.done for row in table):,} of them done;"
        f" {hours(sum(row.cpu_hours for row in table))} CPU hours;"
        f" download {gigabytes(sum(row.download_gb for row in table))},"
        f" disk {gigabytes(sum(row.disk_gb for row in table))}."
    ]
    if gpu_hours:
        lines.append(
            f"GPU hours on {cluster.gpu}: {hours(gpu_hours)} expected, {hours(left_hours)} still to"
            f" come. Jobs reserve {hours(asked)} together."
        )
    ways = [_both_ways(hours_by_way)] if (hours_by_way := gpu_hours_by_way(jobs)) else []
    said = [*rests_on, *([_reserved(cluster)] if gpu_hours else []), *ways]
    lines += [line for one in said for line in textwrap.wrap(one, _COLUMNS)]
    chain = " > ".join(dict.fromkeys(rule_of(job) for job in way if job.need.mem_mb))
    longest = f"Longest chain, on unlimited machines: {clock(seconds / HOUR)} ({chain})."
    lines += textwrap.wrap(longest, _COLUMNS)
    if gpu_hours:
        waits = ", ".join(
            f"{many(at, 'GPU')} {days(max(gpu_hours / at, seconds / HOUR))}" for at in _AT_A_TIME
        )
        lines += [f"At a time: {waits}.", *_by_memory(jobs)]
        lines += ["", *by_model] if (by_model := lines_by_model(jobs)) else []
    return lines


def _reserved(cluster: Cluster) -> str:
    return (
        f"Reserved is what the jobs ask of the scheduler, {cluster.reserve:g} times what is planned and"
        " ten minutes each; what they do not use they give back."
    )


def gpu_hours_by_way(jobs: Iterable[PlannedJob]) -> dict[str, float]:
    """Of the whole, by harmony.together; empty where no training can share its steps."""
    on_gpus = [job.need for job in jobs if job.need.gpus]
    found = dict.fromkeys(way for need in on_gpus for way in need.by_together)
    return {
        way: sum(need.seconds * need.gpus * need.by_together.get(way, 1.0) for need in on_gpus)
        / HOUR
        for way in found
    }


def _both_ways(gpu_hours: Mapping[str, float]) -> str:
    return (
        "Of all jobs, with a model's trainings one after the other (harmony.together: 1),"
        f" {hours(gpu_hours['1'])} GPU hours are expected; where those of a job share their steps (auto),"
        f" {hours(gpu_hours['auto'])}."
    )


def _by_memory(jobs: Iterable[PlannedJob]) -> list[str]:
    """Which GPUs do: most models are small, and small cards wait in no queue."""
    on_gpus = [job for job in jobs if job.need.gpus]
    total = sum(job.need.seconds * job.need.gpus for job in on_gpus)
    shares = []
    for held in (16, 24, 40, 80):
        fitting = [job for job in on_gpus if job.need.gpu_mb <= held * GB]
        done = sum(job.need.seconds * job.need.gpus for job in fitting)
        shares.append(f"{held} GB {len(fitting):,} ({100 * done / total:.0f} % of the hours)")
    return [
        f"Jobs that fit a GPU of at most: {', '.join(shares[:2])},",
        f"{', '.join(shares[2:])}. A count has those before it in it.",
    ]
