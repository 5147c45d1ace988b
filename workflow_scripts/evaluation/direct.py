"""Direct evaluation: one model as it is, one task, one record."""

from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import Cost, Protocol, Record, TaskFacts, write_record
from workflow_scripts.evaluation.lm_eval_run import run_lm_eval
from workflow_scripts.evaluation.outcome import items_of, metrics_of
from workflow_scripts.evaluation.scored_items import ScoredItems
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.recording import Recording, model_facts


def evaluate_direct(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    *,
    study: str,
    task: str,
    primary_metric: str,
    shots: int,
    max_items: int | None,
    seed: int,
    threads: int,
    device: str,
    dtype: str,
    attention: str,
    batch_size: int,
) -> Record:
    """Score a model on lm-eval's own task and write the record and its items."""
    settings = {
        "study": study,
        "task": task,
        "primary_metric": primary_metric,
        "shots": shots,
        "max_items": max_items,
        "seed": seed,
        "threads": threads,
        "device": device,
        "dtype": dtype,
        "attention": attention,
        "batch_size": batch_size,
    }
    recording = Recording()
    loaded = load_model(manifest_path, device=device, dtype=dtype, attention=attention)
    provenance = recording.provenance(settings)
    scored_items = ScoredItems(
        # Beside the record and undeclared: Snakemake removes what a failed job declared.
        record_path.with_name(f".{record_path.stem}.scored"),
        weights_sha256=loaded.manifest.weights_sha256,
        harness=f"lm_eval {provenance.packages['lm_eval']}",
        settings={
            # Two plans may have the same weights; the commit is of the configuration too.
            "commit": loaded.manifest.commit,
            "packages": provenance.packages,
            "device": loaded.device,
            "dtype": loaded.dtype,
            "attention": loaded.attention,
            "threads": loaded.threads,
            "batch_size": batch_size,
            "seed": seed,
        },
    )
    with scored_items:
        run = run_lm_eval(
            loaded,
            hub,
            task,
            shots=shots,
            batch_size=batch_size,
            max_items=max_items,
            seed=seed,
            scored_items=scored_items,
        )
    metrics = metrics_of(run, seed)
    if primary_metric not in {metric.name for metric in metrics}:
        scored_items.done()
        raise UserError(
            f"lm-eval reports no {primary_metric!r} for the task {task}; it reports"
            f" {', '.join(dict.fromkeys(metric.name for metric in metrics))}. Correct the columns"
            " metric and filter of the tasks table."
        )
    items = items_of(run, primary_metric)
    (dataset,) = run.datasets.values()
    first_task = next(iter(run.tasks.values()))
    record = write_record(
        record_path,
        items,
        study=study,
        model=model_facts(loaded.manifest),
        task=TaskFacts(
            name=task,
            harness="lm_eval",
            harness_version=provenance.packages["lm_eval"],
            dataset=dataset.repository,
            dataset_commit=dataset.commit,
            subset=first_task.config.dataset_name if len(run.tasks) == 1 else None,
            split=run.split,
            shots=run.shots,
            version=str(first_task.VERSION),
        ),
        protocol=Protocol(
            name="direct",
            dtype=loaded.dtype,
            attention=run.attention or loaded.attention,
            engine=run.engine,
            batch_size=batch_size,
            threads=loaded.threads,
            seed=seed,
            max_items=max_items,
            generation=first_task.config.generation_kwargs or {},
        ),
        metrics=metrics,
        cost=Cost(tokens=run.tokens, device=loaded.device),
        provenance=provenance,
        volatile=recording.volatile(loaded.device),
    )
    scored_items.done()
    return record
