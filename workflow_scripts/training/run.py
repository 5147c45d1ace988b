"""The one function that trains: continued pre-training, fine-tuning, and training before a test."""

import gc
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import PrinterCallback, TrainingArguments

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import is_out_of_memory
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training import attention, processes
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.packing import Collator, Order
from workflow_scripts.training.precision import choose_precision
from workflow_scripts.training.samples import Samples
from workflow_scripts.training.state import StateFolder, read_trainer_state
from workflow_scripts.training.trained import Trained, measure_speed
from workflow_scripts.training.trained_parameters import choose_parts, report, set_parameters
from workflow_scripts.training.trainer import WEIGHTS, PackedTrainer
from workflow_scripts.training.watching import Progress, SaveAndLeave, StopWhenDiverged

_MAX_MICRO_BATCH = 8


def train(
    load: Callable[[str], Any],
    lesson: Lesson,
    state_path: Path,
    *,
    device: str,
    padding_token: int,
) -> Trained:
    """Train what `load` gives, from the checkpoint in `state_path` on where there is one.

    `load` is called with the number format of parameters that are not trained. When memory runs out, the
    training resumes from its last checkpoint with half the micro-batch, and in the end calculates twice.
    """
    with processes.first_alone(device):
        state = StateFolder(state_path, lesson.owner)
    while True:
        try:
            return _train_once(load, lesson, state, device, padding_token)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            _need_less_memory(lesson.keys, state, device, error)
            if processes.count() > 1:  # the others wait for this one's gradients: all start again
                sys.exit(processes.OUT_OF_MEMORY)
            free_memory()


def free_memory() -> None:
    """Collect what a training leaves behind, which holds itself in circles."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def padding_token(tokenizer) -> int:
    """Return any token: nothing looks at it, and padding is masked."""
    tokens = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return next(token for token in tokens if token is not None)


def _micro_batch_size(keys: TrainingKeys, state: StateFolder) -> int:
    share = keys.batch_size // keys.gpus
    divisors = (n for n in range(min(share, _MAX_MICRO_BATCH), 0, -1) if share % n == 0)
    wanted = state.memory.get("micro_batch_size") or keys.micro_batch_size or next(divisors)
    return min(wanted, share)


def _checkpoints_gradients(keys: TrainingKeys, state: StateFolder) -> bool:
    return keys.gradient_checkpointing == "yes" or "gradient_checkpointing" in state.memory


def _need_less_memory(
    keys: TrainingKeys, state: StateFolder, device: str, error: RuntimeError
) -> None:
    """Halve the micro-batch, and after one sample calculate twice."""
    micro = _micro_batch_size(keys, state)
    if micro > 1:
        print(f"Memory ran out: {micro // 2} samples at a time now; a step keeps its samples.")
        state.memory = {"micro_batch_size": micro // 2}
        return
    may_checkpoint = device != "cpu" and keys.gradient_checkpointing == "auto"
    if not may_checkpoint or _checkpoints_gradients(keys, state):
        raise UserError(
            f"Memory ran out with one sample at a time ({error}). A smaller max_length or"
            " gradient_checkpointing: yes need less."
        ) from None
    print("Memory ran out with one sample at a time: gradient checkpointing from now on.")
    state.memory = {"micro_batch_size": 1, "gradient_checkpointing": True}


def refuse_unusable(model, samples: Samples, keys: TrainingKeys) -> None:
    if not len(samples):
        raise UserError("There is not one sample to train on.")
    longest = int(samples.lengths.max())
    window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if window is not None and longest > window:
        raise UserError(
            f"max_length is {keys.max_length}, and a sample has {longest} tokens; expected at"
            f" most {window}, which the model can look back on."
        )


def _train_once(
    load: Callable[[str], Any], lesson: Lesson, state: StateFolder, device: str, padding_token: int
) -> Trained:
    """Train from the last checkpoint to the end, with one size of micro-batch."""
    keys, micro = lesson.keys, _micro_batch_size(lesson.keys, state)
    # Adapters start at random, and dropout resumes from here: both are the seed's.
    seed_everything(derive_seed(lesson.seed, "training"), device)
    precision = choose_precision(keys.precision, device)
    model = load(precision)
    refuse_unusable(model, lesson.samples, keys)
    packing = attention.choose_packing(model, keys)
    model = choose_parts(model, keys)
    about = report(model, keys.method)
    about |= {"packing": packing, "precision": precision, "device": device}
    print("\n".join(f"{name}: {value}" for name, value in about.items()), flush=True)
    checkpointing = _checkpoints_gradients(keys, state)
    if device == "cuda":
        about["gradient_checkpointing"] = checkpointing

    saver = SaveAndLeave(state, by_time=keys.save_every is None)
    progress = Progress()
    order = Order(
        len(lesson.samples),
        keys.batch_size,
        micro,
        lesson.seed,
        processes.rank(),
        processes.count(),
    )
    trainer = PackedTrainer(
        model,
        _training_arguments(lesson, state, device, micro, checkpointing),
        lesson=lesson,
        order=order,
        collator=Collator(packing != "none", padding_token),
        callbacks=[StopWhenDiverged(model.config.vocab_size), saver, progress],
        precision=precision,
    )
    trainer.remove_callback(PrinterCallback)  # it would print every step; the bar shows them
    with processes.first_alone(device):
        latest = state.latest()
    if latest is not None:
        print(f"Resuming from {latest.name}.", flush=True)
    if latest is None or not _has_ended(latest, lesson):
        with saver.listen():
            trainer.train(resume_from_checkpoint=None if latest is None else str(latest))
        latest = state.checkpoint(trainer.state.global_step)
    else:
        progress.first_step = read_trainer_state(latest).global_step

    ended = read_trainer_state(latest)
    steps = ended.global_step
    selected: dict[str, Any] = {"step": steps}
    if ended.best_global_step is not None:
        best_by = {"by": lesson.best_by[0], "value": ended.best_metric}
        selected = {"step": ended.best_global_step, **best_by}
    parameters = load_file(state.checkpoint(selected["step"]) / WEIGHTS)
    set_parameters(model, parameters)
    padded = packing == "none"
    facts = lesson.facts(order, steps, padded=padded)
    before = lesson.facts(order, progress.first_step, padded=padded)
    return Trained(
        model=model,
        parameters=parameters,
        keys=keys,
        report=about,
        history=ended.log_history,
        selected=selected,
        facts=facts | {"micro_batch_size": micro},
        speed=measure_speed(facts["tokens"] - before["tokens"], progress, trainer),
    )


def _has_ended(checkpoint: Path, lesson: Lesson) -> bool:
    """Return whether a checkpoint is that of the last step, after which the Trainer would make another."""
    state = read_trainer_state(checkpoint)
    control = state.stateful_callbacks["TrainerControl"]["args"]
    stopped = lesson.keys.select == "patience" and control["should_training_stop"]
    return state.global_step >= lesson.steps or stopped


def _training_arguments(
    lesson: Lesson, state: StateFolder, device: str, micro: int, checkpointing: bool
) -> TrainingArguments:
    keys = lesson.keys
    selects = keys.select != "last" and lesson.evaluates
    arguments = TrainingArguments(
        output_dir=str(state.path),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=math.ceil(keys.batch_size // keys.gpus / micro),
        max_steps=lesson.steps,
        learning_rate=keys.learning_rate,
        lr_scheduler_type=lesson.schedule,
        warmup_steps=lesson.warm_up_steps,
        weight_decay=keys.weight_decay,
        max_grad_norm=keys.max_gradient_norm,
        logging_steps=1,
        logging_nan_inf_filter=False,
        # By steps also for epochs: the evaluation behind an epoch comes after the step is saved,
        # and a kill between the two would lose it.
        eval_strategy="steps" if lesson.evaluates else "no",
        eval_steps=lesson.evaluate_every,
        save_strategy="steps",
        save_steps=keys.save_every or lesson.steps,
        metric_for_best_model=f"eval_{lesson.best_by[0]}" if selects else None,
        greater_is_better=lesson.best_by[1] if selects else None,
        seed=derive_seed(lesson.seed, "training") % 2**32,
        use_cpu=device == "cpu",
        activation_checkpointing=checkpointing,
        torch_compile=keys.compile,
        report_to=[],
        remove_unused_columns=False,
        dataloader_pin_memory=device == "cuda",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
    )
    # It would spread a batch over all GPUs that this process sees, and a row cannot be cut.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments
