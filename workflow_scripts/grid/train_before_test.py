"""Train before test: fine-tune a model on a task's training items, choose the epoch on held-out ones,
and put the test once, to the state that was chosen.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import Record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.direct import evaluate_loaded
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.evaluation.lm_eval_run import ask, language_model
from workflow_scripts.evaluation.names import metric_name
from workflow_scripts.evaluation.outcome import refuse_unreported
from workflow_scripts.grid.base import Base
from workflow_scripts.grid.cells import training_beside
from workflow_scripts.grid.splits import Splits, load_splits
from workflow_scripts.grid.training_texts import TrainingTexts
from workflow_scripts.hub.load import LoadedModel, choose_device
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.recording import Recording
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.evaluated import as_evaluated
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.precision import choose_precision
from workflow_scripts.training.run import free_memory, padding_token, train
from workflow_scripts.training.samples import BadSamples, Samples
from workflow_scripts.training.trained import Trained
from workflow_scripts.training.trained_parameters import choose_parts, set_parameters


@dataclass(frozen=True)
class Prepared:
    """All that a cell's trainings and its test need, but for a model to train."""

    hub: Path
    record: Path
    request: CellsRequest
    recipe: TaskRecipe
    base: Base
    loaded: LoadedModel  # of which the model is left out
    precision: str
    splits: Splits
    samples: Samples
    bad_samples: dict[str, Any]
    dataset_commit: str
    recording: Recording

    @property
    def rates(self) -> list[float]:
        return list(self.recipe.learning_rates or [self.recipe.learning_rate])

    @property
    def belongs_to(self) -> dict[str, Any]:
        """What decides the outcome of a training besides its keys and seed."""
        return {
            "base": self.loaded.manifest.commit,
            "dataset": self.dataset_commit,
            "request": self.request.as_params(),
            "packages": package_versions(),
        }

    @property
    def best_by(self) -> tuple[str, bool]:
        """The primary metric, and whether a larger one is better; of bits per byte, say, the smaller is."""
        metric = self.request.task.metric
        name, _, _ = metric.partition(",")  # the part behind it is a filter
        return metric, self.splits.choosing.higher_is_better().get(name, True)

    def lesson(self, rate: float) -> Lesson:
        """The training at one of the rates."""
        return Lesson(
            self.samples,
            self.recipe.training_keys(rate),
            self.request.seed,
            self.belongs_to,
            score=self.score,
            best_by=self.best_by,
        )

    def score(self, model: Any) -> dict[str, float]:
        """The primary metric on the items to choose on; the test's are never looked at."""
        request, task = self.request, self.splits.choosing
        name = task.config.task
        lm = language_model(
            replace(self.loaded, model=model),
            batch_size=request.compute.batch_size,
            seed=request.seed,
        )
        with torch.inference_mode():
            output = ask(
                lm,
                {name: task},
                {name: self.splits.choosing_items},
                chat_template=request.chat_template,
            )
        values = {
            metric_name(*key.split(",", 1)): value
            for key, value in output["results"][name].items()
            if "," in key and "_stderr" not in key
        }
        refuse_unreported(request.task, values)
        return {request.task.metric: float(values[request.task.metric])}


def train_before_test(
    manifest_path: Path,
    hub: Path,
    record_path: Path,
    request: CellsRequest,
    *,
    base: Base | None = None,
) -> Record:
    """A job of several cells gives each of them the base that it has loaded."""
    state = training_beside(record_path)  # stays until the record is safe
    with mirror(hub) as datasets:
        base = base or Base.of(manifest_path, request.compute)
        prepared = prepare(hub, record_path, request, base, datasets)
        candidates = []
        for rate in prepared.rates:
            print(f"{request.task.harness_task}: training at a rate of {rate:g}", flush=True)
            lesson = prepared.lesson(rate)
            trained = train(
                partial(base.to_train, keys=lesson.keys),
                lesson,
                state / f"{rate:g}",
                device=prepared.loaded.device,
                padding_token=padding_token(prepared.loaded.tokenizer),
            )
            candidates.append(replace(trained, model=None))
            del trained
            free_memory()
    return put_test(prepared, candidates)


def prepare(
    hub: Path, record: Path, request: CellsRequest, base: Base, datasets: dict[str, Manifest]
) -> Prepared:
    """`datasets` tells what `mirror` has read, and is emptied before."""
    task, recipe = request.task, request.recipe
    assert recipe, "only a request to train before the test comes here"
    recording = Recording()
    precision = choose_precision(recipe.precision, choose_device(request.compute.device))
    loaded = base.loaded(precision)
    if request.chat_template and loaded.tokenizer.chat_template is None:
        raise UserError(
            f"harmony.chat_template is true, but {loaded.manifest.repository} has no chat template."
        )
    encoder = Encoder(loaded.tokenizer, loaded.model.config)
    datasets.clear()
    splits = load_splits(task.harness_task, recipe, request.seed, request.draws)
    splits.choosing.set_config("num_fewshot", 0)
    samples, bad = _samples(splits, encoder, recipe, request.chat_template)
    ((_, dataset),) = datasets.items()
    return Prepared(
        hub,
        record,
        request,
        recipe,
        base,
        replace(loaded, model=None),  # the trainings ask the base for theirs
        precision,
        splits,
        samples,
        bad,
        dataset.commit,
        recording,
    )


def put_test(prepared: Prepared, candidates: list[Trained]) -> Record:
    """To the best of what was trained at each rate."""
    best = candidates[0]
    if len(candidates) > 1:
        sign = 1 if prepared.best_by[1] else -1
        best = max(candidates, key=lambda trained: sign * trained.selected["value"])
    # Made of what was selected, also where the training has just gone through: the test is the same
    # after a kill.
    model = choose_parts(prepared.base.to_train(prepared.precision, best.keys), best.keys)
    set_parameters(model, best.parameters)
    return evaluate_loaded(
        replace(prepared.loaded, model=as_evaluated(model)),
        prepared.hub,
        prepared.record,
        prepared.request,
        prepared.recording,
        weights_sha256=_digest(best.parameters),
        training=best.as_fact(
            prepared.splits.choosing_split,
            protocol=prepared.recipe.protocol_keys,
            held_out_samples=len(prepared.splits.choosing_items),
            bad_samples=prepared.bad_samples,
        ),
    )


def _samples(
    splits: Splits, encoder: Encoder, recipe: TaskRecipe, chat: bool
) -> tuple[Samples, dict[str, Any]]:
    """The training items with their right answers, in the tokens that the evaluator makes of them."""
    texts, bad = TrainingTexts(splits.test, encoder, recipe, chat=chat), BadSamples()
    return Samples.from_list(texts.samples(splits.training, bad)), bad.as_json()


def _digest(parameters: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(parameters.items()):
        digest.update(f"{name} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.float().numpy().tobytes())
    return digest.hexdigest()
