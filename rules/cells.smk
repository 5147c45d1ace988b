"""Evaluate cells: each model of the Harmony grid, and each row of the leaderboard, on each of its tasks."""

from functools import partial

from workflow_scripts.settings.job_batches import list_batches, list_cell_records

# Raise the version of a rule when the meaning of its records changes.
CELL_VERSIONS = {
    "evaluate_direct": 4,
    "evaluate_few_shot": 2,
    "train_before_test": 3,
    "evaluate_suite": 2,
}


# A rule lists all its outputs, so each batch of tasks (cluster.tasks_per_job) needs its own; no loop may `use rule`.
for _batch in list_batches(SETTINGS):
    _rule_name = _batch.base_rule + _batch.suffix
    _records = list_cell_records(
        SETTINGS, _batch.study, _batch.protocol, _batch.wildcard, _batch.tasks
    )
    _estimate = ESTIMATOR.estimate_row if _batch.study == "suite" else ESTIMATOR.estimate_cells

    rule:
        """Evaluate a model on a batch of tasks: zero-shot, few-shot, or fine-tuned on each task first."""
        name:
            _rule_name
        input:
            model=INPUTS.get_evaluated_model,
            base=INPUTS.list_base_manifests,
            data=partial(INPUTS.list_cell_datasets, _batch),
        output:
            records=_records,
            answers=[path.replace(".json", ".parquet") for path in _records],
        log:
            f"logs/{_batch.base_rule}/{_batch.wildcard}/tasks{_batch.suffix}.log",
        priority: int(_batch.protocol == "train_before_test")  # the longest jobs start first
        retries: RETRIES
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **estimate_resources(_rule_name, partial(_estimate, _batch)),
            # The last try only records that the others were killed: the tables do not wait for a cell.
            tries_left=lambda wildcards, attempt: TRIES - attempt,
        params:
            version=f"{_batch.base_rule} {CELL_VERSIONS[_batch.base_rule]}",
            compute_threads=SETTINGS.compute.threads,
            request=partial(INPUTS.get_cell_params, _batch),
        script:
            "../workflow_scripts/grid/measure_cells.py"
