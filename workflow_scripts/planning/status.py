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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.journal import entries, noted_run
from workflow_scripts.bridge.run_lock import is_run_alive
from workflow_scripts.core.broken import broken_cells
from workflow_scripts.core.clean_text import plain_lines
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import is_running, this_boot
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
        print(plain_lines(status(time.time())), flush=True)
    except UserError as error:
        sys.exit(plain_lines(str(error)))
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
    since = time.strftime("%d %b %H:%M", time.localtime(run["started"]))
    lasted = clock(max(0.0, now - run["started"]) / HOUR)
    lines = [
        f"Run of {', '.join(run['targets']) or 'all'}, started {since},"
        f" {f'going on for {lasted}' if going_on else 'not running now'}.",
        "",
        *_table(found, pace, until, now, "ends" if going_on else "would end"),
    ]
    if until:
        many = "job that is" if pace.jobs == 1 else f"{pace.jobs:,} jobs that are"
        learned = f"Times are estimated by the {many} done."
        lines.append(learned if pace.jobs else "No job is done yet: times are those planned.")
    return "\n".join([*lines, *_running(found, pace, now), *_troubles(found)])


def living(known: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The logs of jobs that still run: by their process on this host, elsewhere by Slurm."""
    running = {log: entry for log, entry in known.items() if entry["state"] == "running"}
    in_slurm = _slurm_jobs() if any(entry["slurm_job"] for entry in running.values()) else None
    here, boot = socket.gethostname(), this_boot()

    def lives(entry: Mapping[str, Any]) -> bool:
        if entry["slurm_job"] and in_slurm is not None:
            return entry["slurm_job"] in in_slurm
        if entry["host"] != here:
            return True
        # The number of a process that died with the machine may be another's by now.
        return entry.get("boot", boot) == boot and is_running(entry["process"])

    return {log for log, entry in running.items() if lives(entry)}


def _slurm_jobs() -> set[str] | None:
    """Their numbers; None where Slurm cannot be asked."""
    command = ["squeue", "--noheader", "--states=running", "--format=%A"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(listed.stdout.split())


def _table(
    found: Sequence[Seen], pace: Pace, until: Mapping[str, float], now: float, when: str
) -> list[str]:
    groups: dict[str, list[Seen]] = {}
    counted = [one for one in found if one.job.need.mem_mb]
    for one in counted:
        groups.setdefault(one.job.study, []).append(one)
    groups["together"] = counted
    last = dict(until) | ({"together": max(until.values())} if until else {})
    head = f"{'study':<10} {'jobs':>6}" + "".join(f"{state:>9}" for state in _STATES)
    lines = [f"{head} {'share':>7} {'left':>8}  {when}"]
    for study, group in groups.items():
        counts = Counter[str](one.state for one in group)
        whole = sum(pace.seconds(one.job) for one in group)
        left = sum(pace.seconds(one.job) for one in group if one.state != "done")
        share = f"{100 * (1 - left / whole):.0f} %" if whole else ""
        line = f"{study:<10} {len(group):>6,}" + "".join(f"{counts[s] or '':>9}" for s in _STATES)
        end = _when(last.get(study), now)
        lines.append(f"{line} {share:>7} {hours(left / HOUR) + ' h':>8}  {end}")
    return lines


def _when(end: float | None, now: float) -> str:
    if end is None:
        return "done"
    style = "%H:%M" if end - now < 12 * HOUR else "%a %d %b %H:%M"
    return time.strftime(style, time.localtime(end))


def _running(found: Sequence[Seen], pace: Pace, now: float) -> list[str]:
    running = [one for one in found if one.state == "running"]
    running.sort(key=lambda one: one.since or now)

    def line(one: Seen) -> list[str]:
        since, expected = clock(one.runs_for(now) / HOUR), clock(pace.seconds(one.job) / HOUR)
        return [f"  {one.job.log} for {since}, expected {expected}"]

    return _listed("Running:", running, line)


def _troubles(found: Sequence[Seen]) -> list[str]:
    def log(one: Seen) -> list[str]:
        last = _last_lines(Path(one.job.log or "")) if one.state == "failed" else []
        return [f"  {one.job.log}", *(f"    | {line}" for line in last)]

    def cell(one: Mapping[str, Any]) -> list[str]:
        return [f"  {one['record']}: {one['reason']} ({one['log']})"]

    failed, stopped = (
        [one for one in found if one.state == state] for state in ("failed", "stopped")
    )
    return [
        *_listed("Failed; the last lines of their logs:", failed, log),
        *_listed(
            "Killed before they ended; the next run resumes from what they have kept:", stopped, log
        ),
        *_listed("Broken cells; the next run tries them again:", broken_cells(), cell),
    ]


def _listed(title: str, group: Sequence[Any], lines: Callable[[Any], list[str]]) -> list[str]:
    """The first of them; nothing where there are none."""
    if not group:
        return []
    more = [f"  and {len(group) - _SHOWN} more"] if len(group) > _SHOWN else []
    return ["", title, *(line for one in group[:_SHOWN] for line in lines(one)), *more]


def _last_lines(log: Path) -> list[str]:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
        return text.rstrip().splitlines()[-_LAST_LINES:]
    except OSError:
        return ["(the log is gone)"]


if __name__ == "__main__":
    main()
