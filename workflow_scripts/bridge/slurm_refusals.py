"""Of a job that failed before it wrote a log: what Slurm said, in a sentence, instead of a traceback.

Snakemake's terminal shows the log of a failed job, and nothing else of it. A job that Slurm refused has none.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.slurm_offer import Partition, why_it_fits_nowhere
from workflow_scripts.bridge.slurm_requests import job_of, request_of
from workflow_scripts.bridge.terminal import say_error, show_if

_REFUSED = (
    re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.\n", re.DOTALL),
    re.compile(r"Job submission failed with exception: (.*)", re.DOTALL),
)
_TOLD_TWICE = "Exception in run_job for rule "  # and then as the job's error
_ADVICE = "For further error details see the cluster/cloud log"  # which is what we do here
_PREFIXES = re.compile(r"sbatch: |error: |Batch job submission failed: ")
# What sbatch names, and the profile's line for it.
_LINES = {
    "account": "slurm_account",
    "partition": "slurm_partition",
    "qos": "qos",
    "gres": "gpu_request",
}
_LAST_LINES = 5


def tell_refusals(workflow, partitions: Sequence[Partition]) -> None:
    """From now on. Each sentence once: what one job of a rule is refused, its others are too."""
    from snakemake_interface_logger_plugins.common import LogEvent

    said: set[tuple[str, str]] = set()
    jobs: set[int] = set()  # tried again, one asks for more, and may be refused for that

    def is_shown(record: Any) -> bool:
        if record.getMessage().startswith(_TOLD_TWICE):
            return False
        if getattr(record, "event", None) != LogEvent.JOB_ERROR:
            return True
        told = (record.rule_msg or "").split(_ADVICE)[0].strip()
        if words := _words_of_refusal(told):
            if record.jobid not in jobs and (record.rule_name, words) not in said:
                said.add((record.rule_name, words))
                say_error(_refusal(workflow, record, words, partitions))
            jobs.add(record.jobid)
            return False
        missing = [path for path in map(Path, record.log) if not path.exists()]
        if missing:
            say_error(_without_log(record, told, missing[0]))
        return not missing

    show_if(workflow, is_shown)


def _words_of_refusal(told: str) -> str | None:
    found = next((match for match in (one.search(told) for one in _REFUSED) if match), None)
    if found is None:
        return None
    lines = (_PREFIXES.sub("", line).strip() for line in found[1].splitlines())
    return "; ".join(dict.fromkeys(filter(None, lines))).rstrip(".")


def _refusal(workflow, record, words: str, partitions: Sequence[Partition]) -> str:
    request = request_of(workflow, job_of(workflow, record.jobid))
    line = next((line for name, line in _LINES.items() if name in words.lower()), None)
    if line is not None:
        where = f"look at {line} in default-resources of the profile"
    else:
        where = "; ".join(why_it_fits_nowhere(request, partitions))
    where = where or "look at the profile, between its lines of dashes"
    return f"Slurm refused a job of {record.rule_name} that asked for {request}: {words}; {where}."


def _without_log(record, told: str, missing: Path) -> str:
    slurms = [path for path in map(Path, record.log) if path.exists()]
    text = slurms[-1].read_text(encoding="utf-8", errors="replace").strip() if slurms else ""
    last = "".join(f"\n  {line}" for line in text.splitlines()[-_LAST_LINES:])
    why = " ".join(told.split()) or "nobody knows why"
    kept = f" The last lines of {slurms[-1]}:{last}" if last else ""
    return f"{record.rule_name} failed before it wrote {missing}: {why.rstrip('.')}.{kept}"
