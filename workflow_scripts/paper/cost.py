"""What a run did cost beside what was planned, and which rates to correct for the next plan.

Times and memory come from the journal of jobs, tokens and GPU memory from the records. It is a table of
times: never twice the same, and no other table is made from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.journal import entries
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import Broken, Record, read_without_items
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.evaluation.prompts.outputs import OutputsFacts, read_outputs
from workflow_scripts.paper.requests import CostTable
from workflow_scripts.planning.jobs import LIGHT, PlannedJob, planned_jobs, rule_of
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.wording import HOUR, clock
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import DASH, numbers
from workflow_scripts.settings.cluster import Cluster

COLUMNS = columns(
    ("text", "study rule"),
    ("whole", "jobs measured"),
    ("number", "planned_hours hours time_ratio"),
    ("whole", "planned_mem_mb mem_mb planned_gpu_mb gpu_mb planned_tokens tokens"),
    ("number", "token_ratio"),
    ("maybe", "correct"),
)
# By what a job's model does most of the time, what of the config decides how long it is planned on a GPU.
_RATES = {"reading": "reading_use", "training": "training_use", "generating": "generating_use"}
# Estimates are called wrong from here on.
_OFF = 1.5
# What a job writes with its cost, by where it lies.
Costly = Record | OutputsFacts | TrainingRecord
_READERS: dict[str, Callable[[Path], Costly | Broken]] = {
    "results/records/": read_without_items,
    "results/outputs/": lambda path: read_outputs(path)[0],
    "results/training/": read_training_record,
}


def cost_table(
    jobs: Sequence[PlannedJob],
    journal: Mapping[str, Mapping[str, Any]],
    cluster: Cluster,
    folder: Path,
) -> pd.DataFrame:
    """A row a study and rule, of the jobs that ended well; those of the light work are left out."""
    measured: dict[tuple[str, str], list[tuple[PlannedJob, float, float]]] = {}
    count: dict[tuple[str, str], int] = {}
    for job in jobs:
        key = (job.study, rule_of(job))
        count[key] = count.get(key, 0) + 1
        entry = journal.get(job.log or "", {})
        if entry.get("state") == "done" and rule_of(job) != LIGHT:
            seconds, mb = entry["ended"] - entry["started"], entry["peak_mb"]
            measured.setdefault(key, []).append((job, seconds, mb))
    rows = [_row(*key, count[key], found, cluster, folder) for key, found in measured.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS.named))


def _row(
    study: str,
    rule: str,
    jobs: int,
    found: list[tuple[PlannedJob, float, float]],
    cluster: Cluster,
    folder: Path,
) -> dict[str, Any]:
    needs = [job.need for job, _, _ in found]
    records = [one for job, _, _ in found for one in _records(job, folder)]
    tokens = sum(map(_tokens, records))
    planned, actual = sum(need.seconds for need in needs), sum(seconds for _, seconds, _ in found)
    gpu_mb = [one.volatile.peak_gpu_memory_mb or 0 for one in records]
    row: dict[str, Any] = {
        "study": study,
        "rule": rule,
        "jobs": jobs,
        "measured": len(found),
        "planned_hours": planned / HOUR,
        "hours": actual / HOUR,
        "time_ratio": actual / planned,
        "planned_mem_mb": max(need.mem_mb for need in needs),
        "mem_mb": round(max(mb for _, _, mb in found)),
        "planned_gpu_mb": max(need.gpu_mb for need in needs) or None,
        "gpu_mb": max(gpu_mb, default=0) or None,
        "planned_tokens": sum(need.tokens for need in needs) or None,
        "tokens": tokens or None,
    }
    counted = row["tokens"] and row["planned_tokens"]
    row["token_ratio"] = row["tokens"] / row["planned_tokens"] if counted else None
    return row | {"correct": _correction(row, _rate(needs, cluster), cluster)}


def _rate(needs: Sequence[Need], cluster: Cluster) -> str | None:
    """That of what most of the jobs' time goes to; none without GPUs, or where a report has measured them."""
    if cluster.measured is not None or not any(need.gpus for need in needs):
        return None
    spent = {work: sum(need.seconds for need in needs if need.mostly == work) for work in _RATES}
    most = max(spent, key=spent.__getitem__)
    return _RATES[most] if spent[most] else None


def _correction(row: dict[str, Any], rate: str | None, cluster: Cluster) -> str | None:
    """What would have made the plan right; the tokens first, because the time follows from them."""
    said = []
    tokens = row["token_ratio"]
    if tokens and not 1 / _OFF < tokens < _OFF:
        said.append(f"tokens in work.tsv x {tokens:.2g}")
    ratio = row["time_ratio"] / (tokens if said else 1)
    if not 1 / _OFF < ratio < _OFF:
        if rate:
            now = getattr(cluster, rate)
            said.append(f"cluster.{rate} {now:g} -> {min(1.0, now / ratio):.2g}")
        elif ratio > 1:
            said.append(f"cluster.reserve at least {ratio:.2g}")
    if row["mem_mb"] > row["planned_mem_mb"]:
        said.append(f"memory was {row['mem_mb'] / row['planned_mem_mb']:.3g} times the plan")
    return "; ".join(said) or None


def _tokens(record: Costly) -> int:
    """Those that decide how long the job took: of a training, those that it trained on."""
    if isinstance(record, TrainingRecord):
        return record.facts["tokens"]
    trained = record.training if isinstance(record, Record) else None
    return trained.tokens if trained else record.cost.tokens


def _records(job: PlannedJob, folder: Path) -> Iterator[Costly]:
    """What the job wrote; a cell that broke cost nothing that is known."""
    for output in job.outputs:
        read = next((read for start, read in _READERS.items() if output.startswith(start)), None)
        if read and output.endswith(".json"):
            try:
                found = read(folder / output)
            except UserError:  # missing, or damaged: other steps say so
                continue
            if not isinstance(found, Broken):
                yield found


def _show(table: pd.DataFrame, _: CostTable) -> ShownColumns:
    def pair(planned: str, actual: str, say: Callable[[float], str]) -> list[str | None]:
        return [
            None
            if pd.isna(one) and pd.isna(other)
            else " / ".join(DASH if pd.isna(value) else say(value) for value in (one, other))
            for one, other in zip(table[planned], table[actual], strict=True)
        ]

    return {
        "study": table["study"],
        "rule": table["rule"],
        "jobs": numbers(table["jobs"], ",d"),
        "time, planned / actual": pair("planned_hours", "hours", clock),
        "ratio": numbers(table["time_ratio"], ".2f"),
        "memory, GB": pair("planned_mem_mb", "mem_mb", lambda mb: f"{mb / 1_000:.1f}"),
        "GPU memory, GB": pair("planned_gpu_mb", "gpu_mb", lambda mb: f"{mb / 1_000:.1f}"),
        "tokens, thousands": pair("planned_tokens", "tokens", lambda n: f"{n / 1_000:,.0f}"),
        "to correct": table["correct"],
    }


TABLE = Table(
    name="cost",
    title="Cost: planned and actual",
    note=(
        "Of the jobs that ended well: their times together, the largest memory, and the tokens"
        " that models read. A ratio is actual over planned. Where it is off by half or more and a"
        " number of the config would mend it, the last column names it: tokens in work.tsv, on GPUs a"
        " rate, elsewhere the reserve where jobs took longer than planned."
    ),
    columns=COLUMNS,
    asks=CostTable,
    make=lambda _, request: cost_table(
        planned_jobs(Path(request.snakefile), request.config), entries(), request.cluster, Path()
    ),
    show=_show,
)
