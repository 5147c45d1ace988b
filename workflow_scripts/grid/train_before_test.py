"""Train before test: fine-tune a model on a task's training items, choose the epoch on held-out ones,
and put the test once, to the state that was chosen.
"""

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import Record
from workflow_scripts.evaluation.direct import evaluate_loaded
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.evaluation.lm_eval_run import ask, language_model
from workflow_scripts.evaluation.outcome import metric_name, refuse_unreported
from workflow_scripts.grid.base import Base
from workflow_scripts.grid.cells import training_beside
from workflow_scripts.grid.splits import Splits, load_splits
from workflow_scripts.grid.training_texts import TrainingTexts
from workflow_scripts.hub.load import LoadedModel, choose_device
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.recording import Recording
from workflow_scripts.settings.cells import CellsRequest
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.evaluated import as_evaluated
from workflow_scripts.training.precision import choose_precision
from workflow_scripts.training.run import free_memory, padding_token, train
from workflow_scripts.training.samples import SampleList, Samples
from workflow_scripts.training.trained_parameters import choose_parts, set_parameters


def train_before_test(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    asked: CellsRequest,
    *,
    base: Base | None = None,
) -> Record:
    """A job of several cells gives each of them the base that it has loaded."""
    recording = Recording()
    task, recipe = asked.task, asked.recipe
    assert recipe, "only a request to train before the test comes here"
    state = training_beside(record_path)  # stays until the record is safe

    base = base or Base.of(manifest_path, asked.compute)
    precision = choose_precision(recipe.precision, choose_device(asked.compute.device))
    loaded = base.loaded(precision)
    if asked.chat_template and loaded.tokenizer.chat_template is None:
        raise UserError(
            f"harmony.chat_template is true, but {loaded.manifest.repository} has no chat template."
        )
    encoder = Encoder(loaded.tokenizer, loaded.model.config)
    loaded = replace(loaded, model=None)  # the trainings ask the base for theirs
    with mirror(hub) as datasets:
        splits = load_splits(task.harness_task, recipe, asked.seed)
        samples, bad = _samples(splits, encoder, recipe, asked.chat_template)
        ((_, dataset),) = datasets.items()
        score = _scorer(splits, loaded, asked)
        larger_is_better = _larger_is_better(splits.choosing, task.metric)
        candidates = []
        for rate in recipe.learning_rates or [recipe.learning_rate]:
            print(f"{task.harness_task}: training at a rate of {rate:g}", flush=True)
            keys = recipe.training_keys(rate)
            trained = train(
                partial(base.to_train, keys=keys),
                samples,
                None,
                state / f"{rate:g}",
                keys=keys,
                device=loaded.device,
                seed=asked.seed,
                belongs_to={
                    "base": loaded.manifest.commit,
                    "dataset": dataset.commit,
                    "asked": asked.as_params(),
                    "packages": package_versions(),
                },
                padding_token=padding_token(loaded.tokenizer),
                score=score,
                best_by=(task.metric, larger_is_better),
            )
            candidates.append(replace(trained, model=None))
            del trained
            free_memory()
        sign = 1 if larger_is_better else -1
        best = max(candidates, key=lambda trained: sign * trained.selected["value"])
    # Made of what was selected, also where the training has just gone through: the test is the same
    # after a kill.
    model = choose_parts(base.to_train(precision, best.keys), best.keys)
    set_parameters(model, best.parameters)
    return evaluate_loaded(
        replace(loaded, model=as_evaluated(model)),
        hub,
        record_path,
        asked,
        recording,
        weights_sha256=_digest(best.parameters),
        training=best.as_fact(
            splits.choosing_split,
            protocol=recipe.protocol_keys,
            held_out_samples=len(splits.choosing_items),
            bad_samples=bad,
        ),
    )


def _samples(
    splits: Splits, encoder: Encoder, recipe: TaskRecipe, chat: bool
) -> tuple[Samples, dict[str, Any]]:
    """The training items with their right answers, in the tokens that the evaluator makes of them."""
    writer = SampleList()
    TrainingTexts(splits.test, encoder, recipe, chat=chat).write(writer, splits.training)
    return writer.all(), writer.bad.as_json()


def _scorer(splits: Splits, loaded: LoadedModel, asked: CellsRequest):
    """The primary metric on the items to choose on; the test's are never looked at."""
    task, name, metric = splits.choosing, splits.choosing.config.task, asked.task.metric
    task.set_config("num_fewshot", 0)

    def score(model) -> dict[str, float]:
        lm = language_model(
            replace(loaded, model=model), batch_size=asked.compute.batch_size, seed=asked.seed
        )
        with torch.inference_mode():
            output = ask(
                lm, {name: task}, {name: splits.choosing_items}, chat_template=asked.chat_template
            )
        values = {
            metric_name(*key.split(",", 1)): value
            for key, value in output["results"][name].items()
            if "," in key and "_stderr" not in key
        }
        refuse_unreported(asked.task, values)
        return {metric: float(values[metric])}

    return score


def _larger_is_better(task, metric: str) -> bool:
    """As lm-eval's task says of the metric; of bits per byte, say, the smaller is."""
    name, _, _ = metric.partition(",")  # the part behind it is a filter
    return task.higher_is_better().get(name, True)


def _digest(parameters: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(parameters.items()):
        digest.update(f"{name} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.float().numpy().tobytes())
    return digest.hexdigest()
