"""Sum the cost of the remaining jobs of a run: jobs, hours, memory and disk of each rule."""

from typing import Any

import pandas as pd

_AGGREGATIONS = {
    "jobs": "sum",
    "gpu_hours": "sum",
    "cpu_hours": "sum",
    "reserved_gpu_hours": "sum",
    "max_job_hours": "max",
    "mem_gb": "max",
    "gpus": "max",
    "gpu_gb": "max",
    "disk_gb": "sum",
}
_SIZES = ["mem_mb", "gpu_mb", "disk_mb"]


def sum_by_rule(jobs: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the sums and the maxima over the jobs of each rule; the last row is the whole run.

    `jobs` are those of bridge.job_list.
    """
    frame = pd.DataFrame(jobs, columns=["rule", "threads", "minutes", "seconds", "gpus", *_SIZES])
    hours = frame["seconds"] / 3600
    frame["jobs"] = 1
    frame["gpu_hours"] = hours * frame["gpus"]
    frame["cpu_hours"] = hours * frame["threads"]
    frame["reserved_gpu_hours"] = frame["minutes"] / 60 * frame["gpus"]
    frame["max_job_hours"] = hours
    frame[["mem_gb", "gpu_gb", "disk_gb"]] = frame[_SIZES] / 1000
    rules = frame.groupby("rule", sort=False).agg(_AGGREGATIONS)
    rules.loc["all"] = rules.agg(_AGGREGATIONS)
    return rules.astype({"jobs": int})


def _format_hours(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} h"
    return f"{hours * 60:.1f} min" if hours >= 1 / 60 else f"{hours * 3600:.0f} s"


def format_plan(
    table: pd.DataFrame, cluster: dict[str, Any], gpu_gb: int, *, unchecked: bool
) -> str:
    """Format the table as text, with warnings about jobs that exceed a time or memory limit."""
    times = table.filter(like="hours").map(_format_hours)
    cells = table.round(2).astype(object).assign(**times)
    lines = [cells.rename(columns=lambda name: name.replace("hours", "time")).to_string(), ""]
    rules = table.drop(index="all")
    max_job_hours = cluster["max_job_hours"]
    if slow_rules := ", ".join(rules.index[rules["max_job_hours"] > max_job_hours]):
        lines.append(
            f"Expected to take longer than cluster.max_job_hours ({max_job_hours}): {slow_rules}."
            " Jobs resume when they are tried again; cluster.tasks_per_job makes them shorter."
        )
    if large_rules := ", ".join(rules.index[rules["gpu_gb"] > gpu_gb]):
        lines.append(
            f"Expected to need more than the {gpu_gb} GB of {cluster['gpu']}: {large_rules}. Take larger GPUs."
        )
    if unchecked:
        lines.append(
            "Requests of the leaderboard count as if accepted; `snakemake submit` checks them."
        )
    return "\n".join([*lines, ""])
