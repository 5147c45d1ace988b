"""What a run did cost beside what was planned, and which rates to correct for the next plan.

Times and memory come from Snakemake's benchmarks, tokens and GPU memory from the records. It is a table of
times: never twice the same, and no other table is made from it.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.planning.jobs import PlannedJob, rule_of
from workflow_scripts.planning.wording import HOUR, clock
from workflow_scripts.render.tables import write_table

COLUMNS = [
    *("study", "rule", "jobs", "measured"),
    *("planned_hours", "hours", "time_ratio"),
    *("planned_mem_mb", "mem_mb", "planned_gpu_mb", "gpu_mb"),
    *("planned_tokens", "tokens", "token_ratio", "correct"),
]
# What decides the planned time of a rule, where a GPU runs it; without one it is the device itself.
_RATES = {
    "evaluate_direct": "reading_use",
    "evaluate_few_shot": "reading_use",
    "evaluate_mmlu": "reading_use",
    "measure_perplexity": "reading_use",
    "measure_stage_perplexity": "reading_use",
    "train_before_test": "training_use",
    "train_checkpoint": "training_use",
    "measure_corpus": "training_use",
    "ask_prompt_run": "generating_use",
    "measure_latency": "generating_use",
}
# Estimates are called wrong from here on.
_OFF = 1.5
_WITH_COST = ("results/records/", "results/outputs/", "results/training/")


def cost_table(
    jobs: Sequence[PlannedJob], cluster: Mapping[str, Any], folder: Path
) -> pd.DataFrame:
    """A row a study and rule, of the jobs that left a benchmark."""
    measured: dict[tuple[str, str], list[tuple[PlannedJob, float, float]]] = {}
    count: dict[tuple[str, str], int] = {}
    for job in jobs:
        key = (job.study, rule_of(job))
        count[key] = count.get(key, 0) + 1
        if job.benchmark and (found := _benchmark(folder / job.benchmark)):
            measured.setdefault(key, []).append((job, *found))
    rows = [_row(*key, count[key], found, cluster, folder) for key, found in measured.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(study, rule, jobs, found, cluster, folder) -> dict[str, Any]:
    needs = [job.need for job, _, _ in found]
    records = [one for job, _, _ in found for one in _records(job, folder)]
    tokens = sum(map(_tokens, records))
    planned, actual = sum(need.seconds for need in needs), sum(seconds for _, seconds, _ in found)
    gpu_mb = [one["volatile"].get("peak_gpu_memory_mb") or 0 for one in records]
    row = {
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
    return row | {"correct": _correction(row, any(need.gpus for need in needs), cluster)}


def _correction(row: Mapping[str, Any], on_gpus: bool, cluster: Mapping[str, Any]) -> str | None:
    """What would have made the plan right; the tokens first, because the time follows from them."""
    said = []
    tokens = row["token_ratio"]
    if tokens and not 1 / _OFF < tokens < _OFF:
        said.append(f"tokens in work.tsv x {tokens:.2g}")
    ratio = row["time_ratio"] / (tokens if said else 1)
    if not 1 / _OFF < ratio < _OFF:
        rate = _RATES.get(row["rule"]) if on_gpus else None
        if rate:
            said.append(
                f"cluster.{rate} {cluster[rate]:g} -> {min(1.0, cluster[rate] / ratio):.2g}"
            )
        elif ratio > 1:
            said.append(f"cluster.reserve at least {ratio:.2g}")
    if row["mem_mb"] > row["planned_mem_mb"]:
        said.append(f"memory was {row['mem_mb'] / row['planned_mem_mb']:.2g} times the plan")
    return "; ".join(said) or None


def _benchmark(path: Path) -> tuple[float, float] | None:
    """Seconds and MB of the last time it ran."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            *_, last = csv.DictReader(file, delimiter="\t")
        return float(last["s"]), float(last["max_rss"])
    except (OSError, ValueError, KeyError):  # none, half written, or with NA
        return None


def _tokens(record: Mapping[str, Any]) -> int:
    """Those that decide how long the job took: of a training, those that it trained on."""
    if "facts" in record:  # a stage of a checkpoint
        return record["facts"]["tokens"]
    return record["training"]["tokens"] if record.get("training") else record["cost"]["tokens"]


def _records(job: PlannedJob, folder: Path) -> list[dict[str, Any]]:
    """Of what the job wrote; a cell that failed has none."""
    found = []
    for output in job.outputs:
        if output.endswith(".json") and output.startswith(_WITH_COST):
            try:
                record = json.loads((folder / output).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if "cost" in record or "facts" in record:
                found.append(record)
    return found


def write_cost_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(
        table,
        csv=csv,
        md=md,
        tex=tex,
        title="Cost: planned and actual",
        note=(
            "Of the jobs that left a benchmark: their times together, the largest memory, and the tokens"
            " that models read. A ratio is actual over planned. Where it is off by half or more and a"
            " number of the config would mend it, the last column names it: tokens in work.tsv, on GPUs a"
            " rate, elsewhere the reserve where jobs took longer than planned."
        ),
        show=_shown,
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    def pair(planned: str, actual: str, say: Callable[[float], str]) -> list[str | None]:
        return [
            None
            if pd.isna(one) and pd.isna(other)
            else " / ".join("—" if pd.isna(value) else say(value) for value in (one, other))
            for one, other in zip(table[planned], table[actual], strict=True)
        ]

    return pd.DataFrame(
        {
            "study": table["study"],
            "rule": table["rule"],
            "jobs": table["jobs"].map("{:,}".format),
            "time, planned / actual": pair("planned_hours", "hours", clock),
            "ratio": table["time_ratio"].map("{:.2f}".format),
            "memory, GB": pair("planned_mem_mb", "mem_mb", lambda mb: f"{mb / 1_000:.1f}"),
            "GPU memory, GB": pair("planned_gpu_mb", "gpu_mb", lambda mb: f"{mb / 1_000:.1f}"),
            "tokens, thousands": pair("planned_tokens", "tokens", lambda n: f"{n / 1_000:,.0f}"),
            "to correct": table["correct"],
        }
    )
