"""What a model's repository on the hub can say of its scores: `.eval_results` and a model-index, a file a model."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.files import write_text
from workflow_scripts.core.records import Metric, Record
from workflow_scripts.scores.tidy import reported
from workflow_scripts.settings.requests import GENERATED

TRAINED = "+train_before_test"


def write_hub_files(records: list[Record], folder: Path) -> None:
    """Scores after training are of other weights than the model's, and lie in a folder of their own."""
    by_model: dict[str, list[tuple[Record, Metric]]] = defaultdict(list)
    for record in records:
        metric = reported(record)
        if metric is not None:
            trained = TRAINED if record.training is not None else ""
            by_model[record.model.id + trained].append((record, metric))
    for model, found in sorted(by_model.items()):
        _write(folder / model / ".eval_results/chorus.yaml", _eval_results(found))
        _write(folder / model / "model-index.yaml", {"model-index": _model_index(model, found)})


def _write(path: Path, value: Any) -> None:
    write_text(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))


def _eval_results(found: list[tuple[Record, Metric]]) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    return eval_result_entries_to_yaml(
        [
            EvalResultEntry(
                dataset_id=record.task.dataset,
                task_id=record.task.name,
                value=metric.value,
                dataset_revision=record.task.dataset_commit,
                date=record.volatile.finished,
                notes=_how(record, metric),
            )
            for record, metric in found
        ]
    )


def _model_index(model: str, found: list[tuple[Record, Metric]]) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [
        EvalResult(
            task_type="text-generation",
            task_name=_how(record, metric),
            dataset_type=record.task.dataset,
            dataset_name=record.task.name,
            dataset_config=record.task.subset,
            dataset_split=record.task.split,
            dataset_revision=record.task.dataset_commit,
            dataset_args={"num_few_shot": record.task.shots},
            metric_type=metric.name,
            metric_value=metric.value,
        )
        for record, metric in found
    ]
    return eval_results_to_model_index(model, results)


def _how(record: Record, metric: Metric) -> str:
    """What tells two scores of one task apart."""
    said = [record.protocol.name.replace("_", "-"), f"{record.task.shots}-shot", metric.name]
    said += [f"n = {metric.n}", f"seed {record.protocol.seed}", record.protocol.dtype]
    said += [f"{record.task.harness} {record.task.harness_version}", record.study]
    if record.model.repository.startswith(GENERATED):
        said.append("generated model and questions")
    return ", ".join(said)
