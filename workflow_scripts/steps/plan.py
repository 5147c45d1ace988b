"""Sum the cost of all pending jobs before the first one runs.

In: the config. Out: results/plan.txt, which the terminal shows, and results/plan.csv.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job


def main(snakefile: str, settings: dict[str, Any]) -> None:
    from workflow_scripts.bridge.job_list import list_jobs
    from workflow_scripts.core.files import write_text
    from workflow_scripts.planning.plan import format_plan, sum_by_rule

    jobs, unchecked = list_jobs(Path(snakefile), settings["config"])
    table = sum_by_rule(jobs)
    write_text(Path("results/plan.csv"), table.to_csv())
    text = format_plan(table, settings["cluster"], settings["gpu_gb"], unchecked=unchecked)
    write_text(Path("results/plan.txt"), text)


if "snakemake" in globals():
    run_job(main, snakemake)
