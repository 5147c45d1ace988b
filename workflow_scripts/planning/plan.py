"""What a whole run will cost: jobs, hours, memory, disk, download, and the longest chain."""

import csv
import io
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from workflow_scripts.core.words import many
from workflow_scripts.planning.cautions import remarks
from workflow_scripts.planning.jobs import LIGHT, PlannedJob, rule_of
from workflow_scripts.planning.wording import GB, HOUR, clock, days, gigabytes, hours
from workflow_scripts.settings.cluster import Cluster

_AT_A_TIME = (1, 8, 32, 128)
_COLUMNS = 100
_MODELS_NAMED, _WIDEST = 15, 38


Row = dict[str, Any]  # the jobs of one rule of a study


def rows(jobs: Iterable[PlannedJob]) -> list[Row]:
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
    return {
        "study": study,
        "rule": rule,
        "jobs": len(jobs),
        "done": sum(job.is_done for job in jobs),
        "gpu_hours": _gpu_hours(jobs),
        "cpu_hours": sum(job.need.seconds * job.threads for job in jobs) / HOUR,
        "longest_hours": max(need.seconds for need in needs) / HOUR,
        "asked_hours": max(job.asked_minutes for job in jobs) / 60,
        "mem_gb": max(need.mem_mb for need in needs) / GB,
        "gpus": max(need.gpus for need in needs),
        "gpu_gb": max(need.gpu_mb for need in needs) / GB,
        "disk_gb": sum(need.disk_mb for need in needs) / GB,
        "download_gb": sum(need.download_mb for need in needs) / GB,
        "tokens": sum(need.tokens for need in needs),
    }


def _gpu_hours(jobs: Iterable[PlannedJob]) -> float:
    return sum(job.need.seconds * job.need.gpus for job in jobs) / HOUR


def longest_chain(jobs: Sequence[PlannedJob]) -> tuple[float, list[PlannedJob]]:
    """Seconds on unlimited machines, and the jobs on the way; jobs come behind those they wait for."""
    ends: list[float] = []
    before: list[int | None] = []
    for job in jobs:
        before.append(max(job.after, key=ends.__getitem__, default=None))
        ends.append(job.need.seconds + (0 if before[-1] is None else ends[before[-1]]))
    place = max(range(len(jobs)), key=ends.__getitem__, default=None)
    chain: list[PlannedJob] = []
    while place is not None:
        chain.append(jobs[place])
        place = before[place]
    return max(ends, default=0.0), chain[::-1]


def hours_by_model(jobs: Iterable[PlannedJob]) -> dict[str, float]:
    """On GPUs, the most first; what is made from a model counts as the model."""
    spent: dict[str, float] = defaultdict(float)
    for job in jobs:
        if job.need.gpus and job.model:
            spent[job.model] += _gpu_hours([job])
    return dict(sorted(spent.items(), key=itemgetter(1), reverse=True))


def as_csv(table: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_rounded, table))
    return text.getvalue()


def as_json(jobs: Sequence[PlannedJob]) -> dict[str, Any]:
    seconds, chain = longest_chain(jobs)
    return {
        "rows": [_rounded(row) for row in rows(jobs)],
        "longest_chain": {
            "hours": round(seconds / HOUR, 4),
            "jobs": [job.outputs[0] for job in chain if job.outputs],
        },
        "gpu_hours_by_model": _rounded(hours_by_model(jobs)),
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {k: round(value, 4) if type(value) is float else value for k, value in values.items()}


_WIDTHS = {"study": 10, "rule": 25, "jobs": 5, "done": 5, "GPU h": 8, "CPU h": 7}
_WIDTHS |= {"longest": 8, "memory": 7, "GPU mem": 9, "disk": 7}


def as_text(jobs: Sequence[PlannedJob], cluster: Cluster, rests_on: Sequence[str] = ()) -> str:
    """For a person who has to ask for hours; a hundred columns. `rests_on` says what the times rest on."""
    table = rows(jobs)
    lines = [_line(_WIDTHS), "-" * len(_line(_WIDTHS))]
    previous = None
    for row in table:
        study = "" if row["study"] == previous else row["study"]
        lines.append(_line((study, row["rule"], *_cells(row))))
        previous = row["study"]
    lines += ["", *_totals(jobs, table, cluster, rests_on)]
    for said in remarks(jobs, cluster):
        lines += ["", *textwrap.wrap(said, _COLUMNS)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    sides = ("<", "<", *">>>>>>>>")
    padded = zip(cells, sides, _WIDTHS.values(), strict=True)
    return " ".join(f"{cell:{side}{width}}" for cell, side, width in padded)


def _cells(row: Row) -> tuple[str, ...]:
    cards = f"{row['gpus']} x " if row["gpus"] > 1 else ""
    return (
        f"{row['jobs']:,}",
        f"{row['done']:,}",
        hours(row["gpu_hours"]) if row["gpus"] else "",
        hours(row["cpu_hours"]),
        clock(row["longest_hours"]),
        gigabytes(row["mem_gb"]),
        f"{cards}{gigabytes(row['gpu_gb'])}" if row["gpus"] else "",
        gigabytes(row["disk_gb"] or row["download_gb"]),
    )


def _totals(
    jobs: Sequence[PlannedJob], table: Sequence[Row], cluster: Cluster, rests_on: Sequence[str]
) -> list[str]:
    def total(column: str) -> float:
        return sum(row[column] for row in table)

    gpu_hours, (seconds, chain) = total("gpu_hours"), longest_chain(jobs)
    lines = [
        f"{total('jobs'):,} jobs, {total('done'):,} of them done; {hours(total('cpu_hours'))} CPU hours;"
        f" download {gigabytes(total('download_gb'))}, disk {gigabytes(total('disk_gb'))}."
    ]
    said = [*rests_on]
    if gpu_hours:
        left = _gpu_hours(job for job in jobs if not job.is_done)
        reserved = sum(job.asked_minutes * job.need.gpus for job in jobs) / 60
        lines.append(
            f"GPU hours on {cluster.gpu}: {hours(gpu_hours)} expected, {hours(left)} still to"
            f" come. Jobs reserve {hours(reserved)} together."
        )
        said.append(
            f"Reserved is what the jobs ask of the scheduler, {cluster.reserve:g} times what is planned and"
            " ten minutes each; what they do not use they give back."
        )
    rules = " > ".join(dict.fromkeys(rule_of(job) for job in chain if job.need.mem_mb))
    said.append(f"Longest chain, on unlimited machines: {clock(seconds / HOUR)} ({rules}).")
    lines += [line for one in said for line in textwrap.wrap(one, _COLUMNS)]
    if gpu_hours:
        waits = ", ".join(
            f"{many(at, 'GPU')} {days(max(gpu_hours / at, seconds / HOUR))}" for at in _AT_A_TIME
        )
        lines += [f"At a time: {waits}.", *_by_memory(jobs)]
        lines += ["", *by_model] if (by_model := lines_by_model(jobs)) else []
    return lines


def _by_memory(jobs: Iterable[PlannedJob]) -> list[str]:
    """Which GPUs do: most models are small, and small cards wait in no queue."""
    on_gpus = [job for job in jobs if job.need.gpus]
    shares = []
    for held in (16, 24, 40, 80):
        fitting = [job for job in on_gpus if job.need.gpu_mb <= held * GB]
        share = 100 * _gpu_hours(fitting) / _gpu_hours(on_gpus)
        shares.append(f"{held} GB {len(fitting):,} ({share:.0f} % of the hours)")
    return [
        f"Jobs that fit a GPU of at most: {', '.join(shares[:2])},",
        f"{', '.join(shares[2:])}. A count has those before it in it.",
    ]


def lines_by_model(jobs: Iterable[PlannedJob]) -> list[str]:
    """The list that whoever has too few hours shortens: in two columns, those that take most by name."""
    spent = list(hours_by_model(jobs).items())
    if len(spent) < 2:
        return []
    named, others = spent[:_MODELS_NAMED], spent[_MODELS_NAMED:]
    if others:
        named.append((f"{len(others)} others", sum(value for _, value in others)))
    cells = [f"{name:<{_WIDEST}} {hours(value):>6}" for name, value in named]
    half = (len(cells) + 1) // 2
    columns = zip(cells[:half], [*cells[half:], ""], strict=False)
    return [
        "GPU hours by model, with the checkpoints that are made from it:",
        *(f"  {left}   {beside}".rstrip() for left, beside in columns),
    ]
