"""Train before test: fine-tune a model on a task's training items, select the epoch on validation items,
and test the selected state once.
"""

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.core.records import Record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.direct import evaluate_loaded
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.evaluation.lm_eval_results import check_metric_reported
from workflow_scripts.evaluation.lm_eval_run import build_language_model, run_lm_eval
from workflow_scripts.evaluation.names import metric_name
from workflow_scripts.grid.cells import get_training_state
from workflow_scripts.grid.shared_model import SharedModel
from workflow_scripts.grid.splits import Splits, load_splits
from workflow_scripts.grid.training_texts import TrainingTextBuilder
from workflow_scripts.hub.load import LoadedModel, choose_device, choose_dtype
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.eval_mode import to_eval_mode
from workflow_scripts.training.run import free_memory, train
from workflow_scripts.training.samples import BadSamples, Samples
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.trainable_parameters import select_trainable, set_parameters


def train_before_test(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    *,
    shared_model: SharedModel | None = None,
) -> Record:
    """Train, select and test one cell, and write its record; the cells of a job share one model."""
    tracker = RunTracker()
    recipe = request.recipe
    assert recipe, "only a request to train before the test comes here"
    shared_model = shared_model or SharedModel(manifest_path, request.compute)
    precision = choose_dtype(recipe.precision, choose_device(request.compute.device))
    loaded = shared_model.get_loaded_model(precision)
    encoder = Encoder(loaded.tokenizer, loaded.model.config)
    loaded = replace(loaded, model=None)  # each training run gets its model from `shared_model`
    bad_samples = BadSamples()
    with mirror(hub) as datasets:
        splits = load_splits(request.task.harness_task, recipe, request.seed, request.draws)
        splits.validation.set_config("num_fewshot", 0)
        # The training items with their correct answers, tokenized as in the evaluation.
        texts = TrainingTextBuilder(splits.test, encoder, recipe, chat=request.chat_template)
        samples = Samples.from_list(texts.build_samples(splits.training, bad_samples))
        ((_, dataset),) = datasets.items()
        resume_key = {
            "base": loaded.manifest.commit,
            "dataset": dataset.commit,
            "request": request.to_params(),
            "packages": list_package_versions(),
        }
        metric = request.task.metric
        # For some metrics, e.g. bits per byte, smaller is better. The part after a comma is the filter.
        larger_is_better = splits.validation.higher_is_better().get(metric.split(",")[0], True)
        print(f"{request.task.harness_task}: training", flush=True)
        spec = TrainingSpec(
            samples,
            TrainingKeys.select_fields(recipe),
            request.seed,
            resume_key,
            loaded.device,
            score=partial(_score_validation, loaded, splits, request),
            best_by=(metric, larger_is_better),
        )
        trained = train(
            partial(shared_model.get_trainable_model, keys=spec.keys),
            spec,
            get_training_state(record_path),
        )
        best = replace(trained, model=None)
        del trained  # the last reference to the trained model
        free_memory()
    # Always rebuild the model from the selected state, so that the test of a resumed job is identical.
    model = select_trainable(shared_model.get_trainable_model(precision, best.keys), best.keys)
    set_parameters(model, best.parameters)
    return evaluate_loaded(
        replace(loaded, model=to_eval_mode(model)),
        hub,
        record_path,
        request,
        tracker,
        weights_sha256=_hash_parameters(best.parameters),
        training=best.to_training_facts(
            keys=best.keys.model_dump(mode="json") | recipe.protocol_keys,
            held_out_split=splits.validation_split,
            held_out_samples=len(splits.validation_items),
            bad_samples=dict(+bad_samples),
        ),
    )


def _score_validation(
    loaded: LoadedModel, splits: Splits, request: CellsRequest, model: Any
) -> dict[str, float]:
    """Compute the primary metric on the validation items."""
    name, metric = splits.validation.config.task, request.task.metric
    lm = build_language_model(replace(loaded, model=model), request)
    with torch.inference_mode():
        output = run_lm_eval(
            lm,
            {name: splits.validation},
            {name: splits.validation_items},
            chat_template=request.chat_template,
        )
    values = {
        metric_name(*key.split(",", 1)): value
        for key, value in output["results"][name].items()
        if "," in key and "_stderr" not in key
    }
    check_metric_reported(request.task, values)
    return {metric: float(values[metric])}


def _hash_parameters(parameters: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(parameters.items()):
        digest.update(f"{name} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.float().numpy().tobytes())
    return digest.hexdigest()
