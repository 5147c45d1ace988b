"""Evaluate cells: each model of the Harmony grid, and each row of the leaderboard, on each of its tasks."""

from functools import partial

from workflow_scripts.evaluation.cells import CellsRequest, harmony_cells, build_suite_cells
from workflow_scripts.settings.job_batches import list_batches, list_cell_records

# Raise a version when the meaning of its records changes.
CELL_VERSIONS = {
    "evaluate_direct": 4,
    "evaluate_few_shot": 2,
    "train_before_test": 3,
    "evaluate_suite": 2,
}


def cells(pack, give):
    """Apply `give` to the request of a job; grid models share one request, leaderboard rows have their own."""

    def give_row(wildcards):
        request, base = SETTINGS.suite_rows[wildcards.row], get_suite_base(wildcards)
        return give(build_suite_cells(SETTINGS, request, pack.protocol, pack.tasks, base))

    if pack.study == "harmony":
        return give(harmony_cells(SETTINGS, pack.protocol, pack.tasks))
    return give_row


def list_cell_manifests(request):
    return [get_manifest("dataset", name) for name in request.datasets]


# A job evaluates a batch of tasks (cluster.tasks_per_job). A Snakemake rule lists all its outputs, so each batch
# needs its own rule; `use rule` is not allowed in a loop.
for _pack in list_batches(SETTINGS):
    _rule = _pack.base + _pack.number
    _records = list_cell_records(SETTINGS, _pack.study, _pack.protocol, _pack.wildcard, _pack.tasks)
    _is_grid = _pack.study == "harmony"
    _estimate = PLANNER.harmony_cells if _is_grid else PLANNER.suite_cells

    rule:
        """Evaluate a model on a batch of tasks: zero-shot, few-shot, or fine-tuned on each task first."""
        name:
            _rule
        input:
            model=get_checkpoint_manifest if _is_grid else get_suite_model,
            base=[] if _is_grid else get_suite_base_manifest,
            data=cells(_pack, list_cell_manifests),
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
            request=cells(_pack, CellsRequest.to_params),
        script:
            "../workflow_scripts/grid/measure_cells.py"
