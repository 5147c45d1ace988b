"""Evaluate cells: each model of the Harmony grid, and each row of the leaderboard, on each of its tasks."""

from functools import partial

from workflow_scripts.settings.job_batches import list_batches, list_cell_records

# Raise a version when the meaning of its records changes.
CELL_VERSIONS = {
    "evaluate_direct": 4,
    "evaluate_few_shot": 2,
    "train_before_test": 3,
    "evaluate_suite": 2,
}


# A job evaluates a batch of tasks (cluster.tasks_per_job). A Snakemake rule lists all its outputs, so each batch
# needs its own rule; `use rule` is not allowed in a loop.
for _pack in list_batches(SETTINGS):
    _rule = _pack.base + _pack.number
    _records = list_cell_records(SETTINGS, _pack.study, _pack.protocol, _pack.wildcard, _pack.tasks)
    _estimate = PLANNER.harmony_cells if _pack.study == "harmony" else PLANNER.suite_cells

    rule:
        """Evaluate a model on a batch of tasks: zero-shot, few-shot, or fine-tuned on each task first."""
        name:
            _rule
        input:
            model=INPUTS.get_evaluated_model,
            base=INPUTS.list_base_manifests,
            data=partial(INPUTS.list_cell_datasets, _pack),
        output:
            records=_records,
            answers=[path.replace(".json", ".parquet") for path in _records],
        log:
            f"logs/{_pack.base}/{_pack.wildcard}/tasks{_pack.number}.log",
        priority: int(_pack.protocol == "train_before_test")  # the longest jobs start first
        retries: RETRIES
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **plan_resources(_rule, partial(_estimate, _pack)),
            # The last try only records that all earlier tries were killed, so that one cell that always fails
            # does not prevent the tables of its study.
            tries_left=lambda wildcards, attempt: TRIES - attempt,
        params:
            version=f"{_pack.base} {CELL_VERSIONS[_pack.base]}",
            compute_threads=SETTINGS.compute.threads,
            # One nested value: Snakemake compares the params of two runs as a set of plain values, and would
            # miss that shots changed from 0 to 1 if another param is 0 and another is 1.
            request=partial(INPUTS.get_cell_params, _pack),
        script:
            "../workflow_scripts/grid/measure_cells.py"
