"""Train a submitted model on each task of the suite before its test, as the Harmony grid does.

In: the manifests of the model and of the tasks' datasets. Out: a record and the items behind it, for
each task. The states to go on from lie beside the records, hidden.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step

if "snakemake" in globals():
    with step(snakemake):
        from workflow_scripts.grid.job import run_job
        from workflow_scripts.grid.train_before_test import train_before_test

        run_job(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output.records],
            Path(snakemake.log[0]),
            version=snakemake.params.version,
            last_try=snakemake.resources.tries_left == 0,
            measure=train_before_test,
            **snakemake.params.settings,
        )
