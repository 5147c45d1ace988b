"""Tabulate the time and the peak memory of the finished jobs by rule, beside the memory that they requested.

In: a line of each job's log. Out: results/costs.txt, which the terminal shows, and results/costs.csv.
"""

import json
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import COST_START, run_job


def main() -> None:
    import pandas as pd

    from workflow_scripts.core.errors import UserError
    from workflow_scripts.core.files import write_text
    from workflow_scripts.settings.job_batches import strip_batch_suffix

    costs = read_costs()
    if not costs:
        raise UserError("No job of this folder has finished: logs/ has no log with a cost.")
    jobs = pd.DataFrame(costs)
    jobs["rule"] = jobs["rule"].map(strip_batch_suffix)
    jobs["requested_by_peak"] = jobs["requested_mb"] / jobs["peak_mb"]
    table = jobs.groupby("rule").agg(
        jobs=("rule", "size"),
        seconds=("seconds", "sum"),
        peak_mb=("peak_mb", "max"),
        requested_mb=("requested_mb", "max"),
        lowest=("requested_by_peak", "min"),
        highest=("requested_by_peak", "max"),
    )
    write_text(Path("results/costs.csv"), table.to_csv())
    write_text(Path("results/costs.txt"), f"{table.round(2).to_string(na_rep='')}\n")


def read_costs() -> list[dict[str, Any]]:
    """Read the cost of each finished job from its log; the logs of other programs may have any encoding."""
    costs = []
    for log in sorted(Path("logs").rglob("*.log")):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        costs += [json.loads(line) for line in lines if line.startswith(COST_START)]
    return costs


if "snakemake" in globals():
    run_job(main, snakemake)
