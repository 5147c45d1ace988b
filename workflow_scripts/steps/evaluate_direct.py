"""Score one model on tasks as it is, zero-shot, with lm-eval's own definitions.

In: the manifests of the model and of the tasks' datasets. Out: a record and the items behind it, for
each task.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step

if "snakemake" in globals():
    with step(snakemake):
        from workflow_scripts.grid.job import run_job

        run_job(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output.records],
            Path(snakemake.log[0]),
            version=snakemake.params.version,
            last_try=snakemake.resources.tries_left == 0,
            **snakemake.params.settings,
        )
