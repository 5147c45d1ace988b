"""Where a run is written into a file, as by `make demo > log`: how far it is, a line every so often.

In a terminal there are bars, which a file cannot show. At the end stands what each study took.
"""

import logging
import sys
import threading
import time
from collections import Counter
from typing import Any

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from workflow_scripts.bridge.job_list import study_of_product
from workflow_scripts.planning.jobs import kind_of, study_of
from workflow_scripts.planning.wording import HOUR, clock

_EVERY = 15.0  # seconds between two lines


class _Run(logging.Handler):
    """What Snakemake says of its jobs, kept by their numbers."""

    def __init__(self, workflow):
        super().__init__()
        self._workflow = workflow
        self.done, self.total = 0, len(workflow.dag)
        self._known: dict[int, tuple[str, str]] = {}  # study and rule
        self._since: dict[int, float] = {}
        self.seconds: dict[str, float] = {}  # of the jobs that ended, by study
        self.began, self.is_over = time.time(), threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        said: Any = record
        match getattr(record, "event", None):
            case LogEvent.PROGRESS:
                self.done, self.total = said.done, said.total
            case LogEvent.JOB_INFO:
                rule_file = str(self._workflow.get_rule(said.rule_name).snakefile)
                wildcards = dict(said.wildcards or {})
                declares = study_of_product(self._workflow, wildcards)
                study = study_of(rule_file, wildcards, declares)
                self._known[said.jobid] = study, said.rule_name
            case LogEvent.JOB_STARTED:
                for job in said.jobs:
                    self._since[job] = record.created
            case LogEvent.JOB_FINISHED:
                self._ended(said.job_id, record.created)
            case LogEvent.JOB_ERROR:
                self._ended(said.jobid, record.created)

    def _ended(self, job: int, now: float) -> None:
        study, _ = self._known.get(job, ("all", ""))
        if (since := self._since.pop(job, None)) is not None:
            self.seconds[study] = self.seconds.get(study, 0.0) + now - since

    def running(self) -> Counter[str]:
        """How many jobs of each rule; of tables and figures together, whose names would not tell more."""
        rules = (self._known[job][1] for job in list(self._since) if job in self._known)
        return Counter(map(kind_of, rules))


_runs: list[_Run] = []  # none where a terminal shows bars


def tell_progress(workflow) -> None:
    """From now on, where nobody sees the bars."""
    if not sys.stdout.isatty():
        run = _Run(workflow)
        _runs.append(run)
        logger.addHandler(run)
        threading.Thread(target=_tell, args=(run,), daemon=True).start()


def _tell(run: _Run) -> None:
    while not run.is_over.wait(_EVERY):
        print(line(run.done, run.total, run.running()), flush=True)


def time_by_study() -> str:
    """The last line: the whole run, and what its jobs took, which went side by side."""
    lines = []
    for run in _runs:
        run.is_over.set()
        whole = clock((time.time() - run.began) / HOUR)
        by_time = sorted(run.seconds.items(), key=lambda one: -one[1])
        each = [f"{study} {clock(s / HOUR)}" for study, s in by_time]
        lines += (
            [f"It took {whole}; its jobs, one after the other: {', '.join(each)}."] if each else []
        )
    return "\n".join(lines)


def line(done: int, total: int, running: Counter[str]) -> str:
    share = f" ({done / total:.0%})" if total else ""
    now = ", ".join(
        f"{number} {rule}" if number > 1 else rule for rule, number in running.most_common()
    )
    return f"{time.strftime('%H:%M:%S')}  {done} of {total} steps done{share}" + (
        f"; at work: {now}" if now else ""
    )
