"""The cost of a run before it runs: jobs, hours, memory and disk of each rule, added up."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow_scripts.planning.needs import Need
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.packs import base_of

_LIGHT = Need(seconds=6, mem_mb=2_000)  # a table, a figure, a check
_SUMS = ["jobs", "done", "gpu_hours", "cpu_hours", "reserved_gpu_hours", "disk_gb"]


def list_jobs_with_costs(listed: list[Mapping[str, Any]], cluster: Cluster) -> pd.DataFrame:
    """Return a row for each job that does something, from bridge.job_list."""
    rows = []
    for job in listed:
        if not job["works"]:
            continue
        need = Need(**job["need"]) if job["need"] else _LIGHT
        hours = need.seconds / 3600
        rows.append(
            {
                "rule": base_of(job["rule"]) if job["need"] else "other rules",
                "jobs": 1,
                "done": int(job["is_done"]),
                "gpu_hours": hours * need.gpus,
                "cpu_hours": hours * job["threads"],
                "reserved_gpu_hours": need.asked_minutes(1, cluster) / 60 * need.gpus,
                "longest_hours": hours,
                "mem_gb": need.mem_mb / 1000,
                "gpus": need.gpus,
                "gpu_gb": need.gpu_mb / 1000,
                "disk_gb": need.disk_mb / 1000,
            }
        )
    return pd.DataFrame(rows)


def sum_by_rule(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the sums of each rule, and its largest job; the last row is the whole run."""
    how = {name: "sum" if name in _SUMS else "max" for name in jobs.columns.drop("rule")}
    rules = jobs.groupby("rule", sort=False).agg(how)
    whole = jobs.agg(how).to_frame("all").T
    return pd.concat([rules, whole.astype(rules.dtypes)]).rename_axis("rule")


def format_plan(table: pd.DataFrame, cluster: Cluster, device_gb: int, *, unchecked: bool) -> str:
    """Return the table as text, and what is known not to fit."""
    lines = [table.round(2).to_string(), ""]
    rules = table.drop(index="all")
    if late := ", ".join(rules.index[rules["longest_hours"] > cluster.longest_hours]):
        lines.append(
            f"Expected to take longer than cluster.longest_hours ({cluster.longest_hours}): {late}."
            " Jobs resume when they are tried again; cluster.tasks_per_job makes them shorter."
        )
    if large := ", ".join(rules.index[rules["gpu_gb"] > device_gb]):
        lines.append(
            f"Expected to need more than the {device_gb} GB of {cluster.gpu}: {large}. Take larger GPUs,"
            " or in the recipe more gpus and sharded: true."
        )
    if unchecked:
        lines.append(
            "Requests of the leaderboard count as if accepted; `snakemake submit` checks them."
        )
    return "\n".join([*lines, ""])
