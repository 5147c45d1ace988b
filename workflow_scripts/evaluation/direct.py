"""Evaluate one model on one task with lm-eval, with or without training before the test."""

from collections.abc import Callable
from pathlib import Path

from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.core.records import Record, TaskFacts, TrainingFacts, write_record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.lm_eval_results import (
    check_metric_reported,
    collect_items,
    compute_task_metrics,
)
from workflow_scripts.evaluation.lm_eval_run import build_language_model, prepare_tasks, run_lm_eval
from workflow_scripts.evaluation.record_parts import describe_run
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.record_fields import RunTracker


def evaluate_direct(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    *,
    load: Callable[..., LoadedModel] = load_model,
) -> Record:
    """Evaluate a model without further training on a cell's task, and write the record and its items."""
    base = request.get_base_manifest(manifest_path)
    loaded = load(manifest_path, base=base, **request.compute.loading)
    return evaluate_loaded(loaded, hub, record_path, request, RunTracker())


def evaluate_loaded(
    loaded: LoadedModel,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    tracker: RunTracker,
    *,
    weights_sha256: str | None = None,
    training: TrainingFacts | None = None,
) -> Record:
    """Evaluate a model in memory; `weights_sha256` hashes its weights if they differ from the manifest's.

    The score cache stays next to the record; the caller removes it once the record is stored safely.
    """
    import torch

    score_cache = ScoreCache.open_for_record(record_path, loaded, weights_sha256)
    with score_cache, mirror(hub) as datasets, torch.inference_mode():
        tasks, indices = prepare_tasks(request)
        lm = build_language_model(loaded, request, score_cache)
        output = run_lm_eval(lm, tasks, indices, chat_template=request.chat_template)
    metrics = compute_task_metrics(tasks, output, request.seed)
    check_metric_reported(request.task, dict.fromkeys(metric.name for metric in metrics))
    (dataset,) = datasets.values()
    first_task = next(iter(tasks.values()))
    return write_record(
        record_path,
        collect_items(tasks, output["samples"], request.task),
        study=request.study,
        task=TaskFacts(
            name=request.task.harness_task,
            harness="lm_eval",
            harness_version=list_package_versions()["lm_eval"],
            dataset=dataset.repository,
            dataset_commit=dataset.commit,
            subset=first_task.config.dataset_name if len(tasks) == 1 else None,
            split=first_task.config.test_split or first_task.config.validation_split,
            shots=first_task.get_config("num_fewshot"),
            version=str(first_task.VERSION),
        ),
        metrics=metrics,
        training=training,
        **describe_run(
            request.protocol,
            request,
            loaded,
            tracker,
            lm.engine.tokens,
            attention=lm.engine.model.attention,
            engine=lm.engine_used,
            chat_template=request.chat_template,
            max_items=request.task.max_test_items,
            generation=first_task.config.generation_kwargs or {},
        ),
    )
