"""Say what the whole run will cost, before a job of it runs.

In: the config, and how long the jobs of it took that are done here. Out: results/plan.txt, which the
terminal shows, and the same as CSV and JSON.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(snakefile: Path, config: dict, cluster: dict, folder: Path) -> None:
    from workflow_scripts.core.files import write_json, write_text
    from workflow_scripts.planning.basis import basis
    from workflow_scripts.planning.jobs import planned_jobs
    from workflow_scripts.planning.measured import learn, priced, took
    from workflow_scripts.planning.plan import as_csv, as_json, as_text, rows
    from workflow_scripts.settings.cluster import Cluster

    planned = planned_jobs(snakefile, config)
    machines = Cluster.model_validate(cluster)
    measured = took(planned, {})
    pace = learn(planned, measured)
    jobs = priced(planned, pace, measured)
    write_text(folder / "plan.csv", as_csv(rows(jobs)))
    write_json(folder / "plan.json", as_json(jobs))
    write_text(folder / "plan.txt", as_text(jobs, machines, basis(planned, jobs, pace, machines)))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.params.snakefile),
            snakemake.params.settings["config"],
            snakemake.params.settings["cluster"],
            Path("results"),
        )
