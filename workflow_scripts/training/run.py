"""Run a training: continued pre-training, fine-tuning or training before a test, with one function."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import EarlyStoppingCallback, TrainerCallback, TrainerState, TrainingArguments

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import is_out_of_memory
from workflow_scripts.core.records import TrainingFacts
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.attention import choose_packing
from workflow_scripts.training.callbacks import CheckpointOnSignal, StopOnNonFiniteLoss
from workflow_scripts.training.packing import collate
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.state import StateFolder, read_trainer_state
from workflow_scripts.training.trainable_parameters import (
    get_trained_parameters,
    select_trainable,
    set_parameters,
)
from workflow_scripts.training.trainer import WEIGHTS, PackedTrainer


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training run; `model` is in the selected state, with adapters not merged."""

    parameters: dict[str, torch.Tensor]  # the trained parameters of the selected state
    keys: TrainingKeys
    report: dict[str, Any]  # how it ran: device, precision, attention, packing, ...
    history: list[dict[str, float]]  # an entry per step and per evaluation
    selected: dict[str, Any]  # the step of the selected state, and why it was selected
    facts: dict[str, Any]  # counts of steps, samples and tokens, equal in each run
    speed: dict[str, Any]  # timings, which differ between runs
    model: Any

    def to_training_facts(self, **overrides: Any) -> TrainingFacts:
        """Return the description of the training for the record of a later measurement; `overrides` replace fields."""
        run_keys = ("packing", "attention", "precision", "gradient_checkpointing")
        is_default = (self.report["device"], self.report["precision"]) == ("cpu", "float32")
        facts = {
            "keys": self.keys.model_dump(mode="json"),
            "samples": self.facts["samples"],
            "held_out_samples": self.facts["held_out_samples"],
            "tokens": self.facts["tokens"],
            "trained_parameters": self.report["trained_parameters"],
            "selected": self.selected,
            "evaluations": tuple(e for e in self.history if any("eval_" in name for name in e)),
            "ran": None if is_default else {name: self.report[name] for name in run_keys},
        }
        return TrainingFacts(**facts | overrides)


def train(load: Callable[[str], Any], spec: TrainingSpec, state_path: Path) -> TrainingResult:
    """Train the model that `load` returns, and resume from the checkpoint in `state_path` if there is one.

    `load` is called with the dtype of the parameters that are not trained. If memory runs out, the training
    resumes from its last checkpoint with half the micro-batch, and finally with gradient checkpointing. A training that
    has already ended is not repeated.
    """
    if not len(spec.samples):
        raise UserError("The training set is empty.")
    keys = spec.keys
    state = StateFolder(state_path, spec.fingerprint)
    micro_batch_size = keys.max_micro_batch_size
    recompute_activations = keys.gradient_checkpointing == "yes"
    while True:
        try:
            return _train_once(load, spec, state, micro_batch_size, recompute_activations)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            may_recompute = spec.device != "cpu" and keys.gradient_checkpointing == "auto"
            if micro_batch_size == 1 and (recompute_activations or not may_recompute):
                raise UserError(
                    f"Memory ran out with one sample at a time ({error}). A smaller max_length or"
                    " gradient_checkpointing: yes need less."
                ) from None
            recompute_activations |= micro_batch_size == 1
            micro_batch_size = keys.get_micro_batch_size(max(1, micro_batch_size // 2))
        print(
            f"Memory ran out; now {micro_batch_size} samples at once, and gradient checkpointing:"
            f" {recompute_activations}."
        )
        free_memory()


def free_memory() -> None:
    """Free the memory of a training, which reference cycles keep alive."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _train_once(
    load: Callable[[str], Any],
    spec: TrainingSpec,
    state: StateFolder,
    micro_batch_size: int,
    recompute_activations: bool,
) -> TrainingResult:
    """Train from the last checkpoint to the end with one micro-batch size, at most that of the checkpoint."""
    keys, latest = spec.keys, state.find_latest()
    first_step, seconds = 0, 0.0
    if latest is not None:
        start_state = read_trainer_state(latest)
        first_step = start_state.global_step
        micro_batch_size = min(micro_batch_size, start_state.train_batch_size)
        print(f"Resuming from {latest.name}.", flush=True)
    # The seed determines the initialisation of adapters and the dropout.
    seed_everything(derive_seed(spec.seed, "training"), spec.device)
    model = load(spec.precision)
    packing = choose_packing(model, keys)
    model = select_trainable(model, keys)
    arguments = _make_training_arguments(spec, state, micro_batch_size, recompute_activations)
    report = {
        "trained_parameters": sum(p.numel() for p in get_trained_parameters(model).values()),
        "attention": model.config._attn_implementation,
        "packing": packing,
        "precision": spec.precision,
        "device": spec.device,
        "gradient_checkpointing": arguments.activation_checkpointing,
    }
    print("\n".join(f"{name}: {value}" for name, value in report.items()), flush=True)
    saver = CheckpointOnSignal(state, saves_by_time=keys.save_steps is None)
    callbacks: list[TrainerCallback] = [StopOnNonFiniteLoss(), saver]
    if keys.select == "early_stopping" and spec.evaluates:
        callbacks.append(EarlyStoppingCallback(1))
    trainer = PackedTrainer(
        model,
        arguments,
        partial(collate, packing=packing != "none"),
        spec.samples,
        spec.held_out or spec.samples,  # not used, but required: `evaluate` is overridden
        callbacks=callbacks,
    )
    trainer.spec = spec
    trainer.model_accepts_loss_kwargs = True  # compute_loss divides by the tokens of the step
    if latest is None or not _is_final(latest):
        with saver.handle_signals():
            output = trainer.train(resume_from_checkpoint=None if latest is None else str(latest))
        latest, seconds = state.get_checkpoint(output.global_step), output.metrics["train_runtime"]
    end_state = read_trainer_state(latest)
    selected = _describe_selected_state(end_state, spec)
    parameters = load_file(state.get_checkpoint(selected["step"]) / WEIGHTS)
    set_parameters(model, parameters)
    tokens = spec.count_tokens(end_state.global_step)
    timed_tokens = tokens - spec.count_tokens(first_step)
    return TrainingResult(
        model=model,
        parameters=parameters,
        keys=keys,
        report=report,
        history=end_state.log_history,
        selected=selected,
        facts={
            "steps": end_state.global_step,
            "samples": len(spec.samples),
            "held_out_samples": len(spec.held_out or ()),
            "tokens": tokens,
            "micro_batch_size": micro_batch_size,
        },
        speed={
            "went_on_from_step": first_step,
            "seconds": seconds,
            "tokens_per_second": round(timed_tokens / seconds, 1) if seconds else None,
        },
    )


def _describe_selected_state(end_state: TrainerState, spec: TrainingSpec) -> dict[str, Any]:
    """Return the step of the best state and its score, or the last step of a training that selects none."""
    if end_state.best_global_step is None:
        return {"step": end_state.global_step}
    metric, _ = spec.best_by
    return {"step": end_state.best_global_step, "by": metric, "value": end_state.best_metric}


def _is_final(checkpoint: Path) -> bool:
    """Return whether a checkpoint is the last of its training; from it, the Trainer would train one more step."""
    control = read_trainer_state(checkpoint).stateful_callbacks["TrainerControl"]
    return control["args"]["should_training_stop"]


def _make_training_arguments(
    spec: TrainingSpec, state: StateFolder, micro_batch_size: int, recompute_activations: bool
) -> TrainingArguments:
    keys = spec.keys
    selects_best = keys.select != "last" and spec.evaluates
    metric, greater_is_better = spec.best_by
    arguments = TrainingArguments(
        output_dir=str(state.path),
        per_device_train_batch_size=micro_batch_size,
        gradient_accumulation_steps=keys.batch_size // micro_batch_size,
        max_steps=spec.steps,
        learning_rate=keys.learning_rate,
        lr_scheduler_type=keys.lr_scheduler.replace("constant", "constant_with_warmup"),
        warmup_steps=round(keys.warmup_ratio * spec.steps),
        weight_decay=keys.weight_decay,
        max_grad_norm=keys.max_grad_norm,
        logging_steps=1,
        logging_nan_inf_filter=False,
        # "steps" also for epochs: the Trainer evaluates an epoch after saving its last step, and a kill between the two
        # would lose the evaluation.
        eval_strategy="steps" if spec.evaluates else "no",
        eval_steps=keys.eval_steps or spec.steps_per_epoch,
        save_strategy="steps",
        save_steps=keys.save_steps or spec.steps,
        save_total_limit=3,
        metric_for_best_model=f"eval_{metric}" if selects_best else None,
        greater_is_better=greater_is_better if selects_best else None,
        seed=derive_seed(spec.seed, "training") % 2**32,
        use_cpu=spec.device == "cpu",
        activation_checkpointing=recompute_activations,
        report_to=[],
        remove_unused_columns=False,
        dataloader_pin_memory=spec.device == "cuda",
    )
    # The Trainer would split a batch over all visible GPUs, but a packed row cannot be split.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments
