"""Evaluate one model on one task with lm-eval: the model as it is, or as it was trained."""

from collections.abc import Callable
from pathlib import Path

from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import Record, TaskFacts, TrainingFacts, write_record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.lm_eval_results import check_metric_reported, items_of, metrics_of
from workflow_scripts.evaluation.lm_eval_run import LmEvalResult, evaluate_with_lm_eval
from workflow_scripts.evaluation.record_parts import build_protocol
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.record_fields import Recording


def evaluate_direct(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    *,
    load: Callable[..., LoadedModel] = load_model,
) -> Record:
    """Evaluate a model as it is on a cell's task, and write the record and its items."""
    base = request.base_manifest(manifest_path)
    loaded = load(manifest_path, base=base, **request.compute.loading)
    return evaluate_loaded(loaded, hub, record_path, request, Recording())


def evaluate_loaded(
    loaded: LoadedModel,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    recording: Recording,
    *,
    weights_sha256: str | None = None,
    training: TrainingFacts | None = None,
) -> Record:
    """Evaluate a model in memory; `weights_sha256` is of its weights where they are not the manifest's.

    What was scored stays beside the record: whoever called this removes it when the record is safe.
    """
    harness_version = package_versions()["lm_eval"]
    scored_items = ScoreCache.beside(
        record_path,
        loaded,
        harness=f"lm_eval {harness_version}",
        weights_sha256=weights_sha256,
        batch_size=request.compute.batch_size,
        seed=request.seed,
    )
    with scored_items:
        run = evaluate_with_lm_eval(loaded, hub, request, scored_items)
    metrics = metrics_of(run, request.seed)
    check_metric_reported(request.task, dict.fromkeys(metric.name for metric in metrics))
    return write_record(
        record_path,
        items_of(run, request.task, with_texts=request.keep_texts),
        study=request.study,
        task=_task_facts(run, request.task.harness_task, harness_version),
        protocol=build_protocol(
            request.protocol,
            loaded,
            seed=request.seed,
            batch_size=request.compute.batch_size,
            attention=run.attention,
            engine=run.engine,
            chat_template=request.chat_template,
            max_items=request.task.max_test_items,
            generation=next(iter(run.tasks.values())).config.generation_kwargs or {},
        ),
        metrics=metrics,
        training=training,
        **recording.parts(request, loaded, run.tokens),
    )


def _task_facts(run: LmEvalResult, task: str, harness_version: str) -> TaskFacts:
    (dataset,) = run.datasets.values()
    first_task = next(iter(run.tasks.values()))
    return TaskFacts(
        name=task,
        harness="lm_eval",
        harness_version=harness_version,
        dataset=dataset.repository,
        dataset_commit=dataset.commit,
        subset=first_task.config.dataset_name if len(run.tasks) == 1 else None,
        split=run.split,
        shots=run.shots,
        version=str(first_task.VERSION),
    )
