"""One model on one task with lm-eval, one record: the model as it is, or as it was trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import (
    Cost,
    Protocol,
    Record,
    TaskFacts,
    Training,
    write_record,
)
from workflow_scripts.evaluation.lm_eval_run import LmEvalRun, run_lm_eval
from workflow_scripts.evaluation.outcome import items_of, metrics_of
from workflow_scripts.evaluation.scored_items import ScoredItems
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.recording import Recording, model_facts


@dataclass(frozen=True)
class Question:
    """What a model is asked and how it is run; `record` and `training` say what the answers are of."""

    study: str
    task: str
    primary_metric: str
    shots: int
    max_items: int | None
    seed: int
    threads: int
    device: str
    dtype: str
    attention: str
    batch_size: int
    chat_template: bool = False
    protocol: Literal["direct", "few_shot", "train_before_test"] = "direct"
    max_items_per_member: bool = False  # of a group: max_items of each member, not of all together
    keep_texts: bool = False  # with each item what was asked and the answers there were


def evaluate_direct(manifest_path: Path, hub: Path, record_path: Path, **question: Any) -> Record:
    """Score a model on lm-eval's own task and write the record and its items."""
    asked = Question(**question)
    recording = Recording()
    loaded = load_model(
        manifest_path, device=asked.device, dtype=asked.dtype, attention=asked.attention
    )
    return evaluate_loaded(loaded, hub, record_path, asked, recording)


def evaluate_loaded(
    loaded: LoadedModel,
    hub: Path,
    record_path: Path,
    asked: Question,
    recording: Recording,
    *,
    weights_sha256: str | None = None,
    training: Training | None = None,
) -> Record:
    """As above, of a model in memory; `weights_sha256` is of these where they are not the manifest's.

    What was scored stays beside the record: whoever called this removes it when the record is safe.
    """
    provenance = recording.provenance(asked.__dict__)
    scored_items = ScoredItems.beside(
        record_path,
        loaded,
        provenance.packages,
        harness=f"lm_eval {provenance.packages['lm_eval']}",
        weights_sha256=weights_sha256,
        batch_size=asked.batch_size,
        seed=asked.seed,
    )
    with scored_items:
        run = run_lm_eval(
            loaded,
            hub,
            asked.task,
            shots=asked.shots,
            batch_size=asked.batch_size,
            max_items=asked.max_items,
            max_items_per_member=asked.max_items_per_member,
            seed=asked.seed,
            chat_template=asked.chat_template,
            scored_items=scored_items,
        )
    metrics = metrics_of(run, asked.seed)
    if asked.primary_metric not in {metric.name for metric in metrics}:
        raise UserError(
            f"lm-eval reports no {asked.primary_metric!r} for the task {asked.task}; it reports"
            f" {', '.join(dict.fromkeys(metric.name for metric in metrics))}. Correct the columns"
            " metric and filter of the tasks table."
        )
    return write_record(
        record_path,
        items_of(run, asked.primary_metric, with_texts=asked.keep_texts),
        study=asked.study,
        model=model_facts(loaded.manifest),
        task=_task_facts(run, asked.task, provenance.packages["lm_eval"]),
        protocol=_protocol(run, asked, loaded),
        metrics=metrics,
        cost=Cost(tokens=run.tokens, device=loaded.device),
        training=training,
        provenance=provenance,
        volatile=recording.volatile(loaded.device),
    )


def _task_facts(run: LmEvalRun, task: str, harness_version: str) -> TaskFacts:
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


def _protocol(run: LmEvalRun, asked: Question, loaded: LoadedModel) -> Protocol:
    return Protocol(
        name=asked.protocol,
        dtype=loaded.dtype,
        attention=run.attention or loaded.attention,
        engine=run.engine,
        batch_size=asked.batch_size,
        threads=loaded.threads,
        seed=asked.seed,
        chat_template=asked.chat_template,
        max_items=asked.max_items,
        generation=next(iter(run.tasks.values())).config.generation_kwargs or {},
    )
