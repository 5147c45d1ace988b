"""How far the run of this folder is, while it is going on or after it: it locks and changes nothing.

    python -m workflow_scripts.planning.status [--directory runs/paper]

What is run, the last run has noted; how far each job is, its own entry in the journal says.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.journal import entries, noted_run
from workflow_scripts.bridge.run_lock import is_run_alive
from workflow_scripts.core.broken import broken_cells
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import is_running
from workflow_scripts.planning.jobs import planned_jobs
from workflow_scripts.planning.measured import Pace, learn, took
from workflow_scripts.planning.progress import Seen, ends, most_at_once, seen
from workflow_scripts.planning.wording import HOUR, clock, hours

_STATES = ("done", "running", "failed", "stopped", "waiting")
_SHOWN, _LAST_LINES = 10, 6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workflow_scripts.planning.status")
    parser.add_argument("--directory", type=Path, default=Path(), help="the folder of the run")
    os.chdir(parser.parse_args().directory)
    try:
        print(status(time.time()), flush=True)
    except UserError as error:
        sys.exit(str(error))
    except BrokenPipeError:  # `make status | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def status(now: float) -> str:
    run = noted_run()
    if run is None:
        raise UserError(
            "No run has been started in this folder; `snakemake plan` says what one costs."
        )
    jobs = planned_jobs(Path(run["snakefile"]), run["config"], tuple(run["targets"]) or ("all",))
    known = entries()
    alive = living(known)
    found = seen(jobs, known, alive, run["started"])
    going_on = is_run_alive(Path(".snakemake")) or bool(alive)
    workers = sum(one.state == "running" for one in found) or most_at_once(known, run["started"])
    pace = learn(jobs, took(jobs, known))
    until = ends(found, pace, workers, now)
    lines = [_first_line(run, going_on, now), "", *_table(found, pace, until, now, going_on)]
    lines += [_where_from(pace)] if until else []
    return "\n".join([*lines, *_running(found, pace, now), *_troubles(found)])


def living(known: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The logs of jobs that still run: by their process on this host, elsewhere by Slurm."""
    running = {log: entry for log, entry in known.items() if entry["state"] == "running"}
    in_slurm = _slurm_jobs() if any(entry["slurm_job"] for entry in running.values()) else None
    here = socket.gethostname()

    def lives(entry: Mapping[str, Any]) -> bool:
        if entry["slurm_job"] and in_slurm is not None:
            return entry["slurm_job"] in in_slurm
        return entry["host"] != here or is_running(entry["process"])

    return {log for log, entry in running.items() if lives(entry)}


def _slurm_jobs() -> set[str] | None:
    """Their numbers; None where Slurm cannot be asked."""
    command = ["squeue", "--noheader", "--states=running", "--format=%A"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(listed.stdout.split())


def _first_line(run: Mapping[str, Any], going_on: bool, now: float) -> str:
    since = time.strftime("%d %b %H:%M", time.localtime(run["started"]))
    what = ", ".join(run["targets"]) or "all"
    lasted = clock(max(0.0, now - run["started"]) / HOUR)
    how = f"going on for {lasted}" if going_on else "not running now"
    return f"Run of {what}, started {since}, {how}."


def _where_from(pace: Pace) -> str:
    if not pace.jobs:
        return "No job is done yet: times are those planned."
    many = "job that is" if pace.jobs == 1 else f"{pace.jobs:,} jobs that are"
    return f"Times are estimated by the {many} done."


def _table(
    found: Sequence[Seen], pace: Pace, until: Mapping[str, float], now: float, going_on: bool
) -> list[str]:
    by_study: dict[str, list[Seen]] = {}
    for one in found:
        if one.job.need.mem_mb:
            by_study.setdefault(one.job.study, []).append(one)
    head = f"{'study':<10} {'jobs':>6}" + "".join(f"{state:>9}" for state in _STATES)
    lines = [f"{head} {'share':>7} {'left':>8}  {'ends' if going_on else 'would end'}"]
    for study, group in by_study.items():
        lines.append(_study_line(study, group, pace, until.get(study), now))
    ends_last = max(until.values(), default=None)
    return [
        *lines,
        _study_line("together", [o for g in by_study.values() for o in g], pace, ends_last, now),
    ]


def _study_line(
    study: str, group: Sequence[Seen], pace: Pace, end: float | None, now: float
) -> str:
    counts = Counter[str](one.state for one in group)
    whole = sum(pace.seconds(one.job) for one in group)
    left = sum(pace.seconds(one.job) for one in group if one.state != "done")
    share = f"{100 * (1 - left / whole):.0f} %" if whole else ""
    line = f"{study:<10} {len(group):>6,}" + "".join(f"{counts[s] or '':>9}" for s in _STATES)
    return f"{line} {share:>7} {hours(left / HOUR) + ' h':>8}  {_when(end, now)}"


def _when(end: float | None, now: float) -> str:
    if end is None:
        return "done"
    style = "%H:%M" if end - now < 12 * HOUR else "%a %d %b %H:%M"
    return time.strftime(style, time.localtime(end))


def _running(found: Sequence[Seen], pace: Pace, now: float) -> list[str]:
    running = sorted(
        (one for one in found if one.state == "running"), key=lambda one: one.since or now
    )
    lines = ["", "Running:"] if running else []
    for one in running[:_SHOWN]:
        since, expected = clock(one.runs_for(now) / HOUR), clock(pace.seconds(one.job) / HOUR)
        lines.append(f"  {one.job.log} for {since}, expected {expected}")
    if len(running) > _SHOWN:
        lines.append(f"  and {len(running) - _SHOWN} more")
    return lines


def _troubles(found: Sequence[Seen]) -> list[str]:
    lines = []
    for state, title in (
        ("failed", "Failed; the last lines of their logs:"),
        ("stopped", "Killed before they ended; the next run resumes from what they have kept:"),
    ):
        group = [one for one in found if one.state == state]
        lines += ["", title] if group else []
        for one in group[:_SHOWN]:
            lines.append(f"  {one.job.log}")
            if state == "failed":
                lines += [f"    | {line}" for line in _last_lines(Path(one.job.log or ""))]
        if len(group) > _SHOWN:
            lines.append(f"  and {len(group) - _SHOWN} more")
    broken = broken_cells()
    lines += ["", "Broken cells; the next run tries them again:"] if broken else []
    return lines + [f"  {c['record']}: {c['reason']} ({c['log']})" for c in broken[:_SHOWN]]


def _last_lines(log: Path) -> list[str]:
    try:
        return (
            log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-_LAST_LINES:]
        )
    except OSError:
        return ["(the log is gone)"]


if __name__ == "__main__":
    main()
