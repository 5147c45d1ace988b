"""The one function that trains: continued pre-training, fine-tuning, and training before a test."""

import gc
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainingArguments
from transformers.integrations import is_tensorboard_available

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import ran_out
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.planning.memory import room_on
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training import attention, processes
from workflow_scripts.training.activations import Fitting, StepMemory, longest_row
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.packing import Collator, Order
from workflow_scripts.training.precision import choose_precision
from workflow_scripts.training.progress import Progress, to_tensorboard
from workflow_scripts.training.samples import Samples
from workflow_scripts.training.selection import KeepBest, is_best_whole
from workflow_scripts.training.state import StateFolder, step_of
from workflow_scripts.training.trained import Trained, speed_of
from workflow_scripts.training.trained_parameters import (
    choose_parts,
    gathered_parameters,
    report,
    set_parameters,
)
from workflow_scripts.training.trainer import PackedTrainer
from workflow_scripts.training.watching import SaveAndLeave, StopWhenDiverged

_USUAL_MICRO_BATCH = 8


def train(
    load: Callable[[str], Any],
    lesson: Lesson,
    state_path: Path,
    *,
    device: str,
    padding_token: int,
    tensorboard_folder: Path | None = None,
) -> Trained:
    """Train what `load` gives, from the state in `state_path` on where there is one.

    `load` is called with the number format that parameters which are not trained are wanted in. When memory
    runs out, the training resumes from its last state, and if that happens twice there, with half the
    micro-batch.
    """
    keys = lesson.keys
    if keys.tensorboard and not is_tensorboard_available():
        raise UserError(
            "tensorboard is true and the package tensorboard is not installed; expected it beside torch"
            " (pip install tensorboard), or tensorboard: false."
        )
    with processes.first_alone(device):
        state = StateFolder(state_path, lesson.owner)
    share = keys.batch_size // keys.gpus
    tensorboard_folder = tensorboard_folder or state_path.with_name(
        f"{state_path.name}.tensorboard"
    )
    attempt = Attempt(load, lesson, state, device, padding_token, tensorboard_folder)
    micro = state.largest_batch or keys.micro_batch_size or largest_divisor(share)
    while True:
        try:
            return attempt.run(min(micro, share))
        except RuntimeError as error:
            if not ran_out(error):
                raise
            again = state.may_try_again()
            tried = state.largest_batch is not None or device == "cpu"
            if not again and micro == 1 and (tried or keys.gradient_checkpointing != "auto"):
                raise UserError(
                    f"Memory ran out with one sample at a time ({error}). A smaller max_length,"
                    " gradient_checkpointing: yes, or more gpus and sharded: true need less."
                ) from None
        if again:
            print("Memory ran out: once more from the last state.", flush=True)
        else:
            micro = max(1, micro // 2)
            print(f"Memory ran out: {micro} samples at a time now; a step keeps its samples.")
            state.largest_batch = micro
        if processes.count() > 1:  # the others wait for this one's gradients: all start again
            sys.exit(processes.OUT_OF_MEMORY)
        free_memory()


def free_memory() -> None:
    """What a training leaves behind holds itself in circles, which only the garbage collector finds."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def padding_token(tokenizer) -> int:
    """Any token will do where nothing looks at it, and padding is masked."""
    found = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return next(token for token in found if token is not None)


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


def largest_divisor(share: int) -> int:
    return next(n for n in range(min(share, _USUAL_MICRO_BATCH), 0, -1) if share % n == 0)


@dataclass(frozen=True)
class Attempt:
    """One training with one size of micro-batch, from the last state to the end."""

    load: Callable[[str], Any]
    lesson: Lesson
    state: StateFolder
    device: str
    padding_token: int
    tensorboard_folder: Path

    def run(self, micro: int) -> Trained:
        lesson, keys = self.lesson, self.lesson.keys
        # Adapters start at random, and dropout resumes from here: both are the seed's.
        seed_everything(derive_seed(lesson.seed, "training"), self.device)
        precision = choose_precision(keys.precision, self.device)
        model = self.load(precision if keys.adapters_alone or not keys.sharded else "float32")
        refuse_unusable(model, lesson.samples, keys)
        if keys.sharded:  # a first pass before would settle what needs gradients
            model = choose_parts(model, keys)
        packing = attention.choose_packing(model, keys)
        if not keys.sharded:
            model = choose_parts(model, keys)
        about = report(model, keys.method)
        about |= {"packing": packing, "precision": precision, "device": self.device}
        print("\n".join(f"{name}: {value}" for name, value in about.items()), flush=True)

        watcher = SaveAndLeave(self.state, keys.save_every)
        progress = Progress()
        callbacks = [StopWhenDiverged(model.config.vocab_size), watcher, progress]
        keep_best = None
        if keys.select != "last" and lesson.evaluates:
            keep_best = KeepBest(self.state.path, lesson.best_by, keys.select)
            callbacks.insert(0, keep_best)
        if keys.tensorboard and processes.is_first():
            callbacks.append(to_tensorboard(self.tensorboard_folder))
        shared = processes.rank(), processes.count()
        order = Order(len(lesson.samples), keys.batch_size, micro, lesson.seed, *shared)
        padded = packing == "none"
        fitting = self.fitting(model, order, precision, padded=padded)
        if self.device == "cuda":
            about["gradient_checkpointing"] = fitting.checkpoints
        args = self.arguments(micro, fitting.checkpoints)
        trainer = PackedTrainer(
            model,
            args,
            lesson=lesson,
            order=order,
            collator=Collator(not padded, self.padding_token, fitting.most_tokens),
            callbacks=callbacks,
            precision=precision,
        )
        trainer.remove_callback(PrinterCallback)  # it would print every step; the bar shows them
        latest = self.latest_checkpoint()
        end = (keep_best.ended if keep_best else None) or args.max_steps
        if latest is not None and step_of(latest) >= end:
            trainer.take_over(latest)
            progress.first_step = trainer.state.global_step
        else:
            with watcher.leaving.listening():
                trainer.train(resume_from_checkpoint=None if latest is None else str(latest))

        steps = trainer.state.global_step
        selected: dict[str, Any] = {"step": steps}
        last = None
        if keep_best is not None:
            selected = keep_best.selected()
            if selected["step"] != steps:
                last = gathered_parameters(trainer.model)
                set_parameters(trainer.model, keep_best.tensors())
        facts = lesson.facts(order, steps, padded=padded)
        before = lesson.facts(order, progress.first_step, padded=padded)
        return Trained(
            model=model,
            parameters=gathered_parameters(trainer.model),
            last_parameters=last,
            keys=keys,
            report=about,
            history=[
                dict(sorted(entry.items()))  # a state that was read again has them in this order
                for entry in trainer.state.log_history
                if "train_runtime" not in entry  # that one is of the whole
            ],
            selected=selected,
            facts=facts | {"micro_batch_size": micro},
            speed=speed_of(facts["tokens"] - before["tokens"], progress, trainer),
        )

    def latest_checkpoint(self) -> Path | None:
        """Find the checkpoint to resume from, after deleting all of them if the best one is incomplete."""
        with processes.first_alone(self.device):
            if not is_best_whole(self.state.path):
                self.state.forget("The best state that was kept is not whole")
            latest = self.state.latest()
        if latest is not None:
            print(f"Going on from {latest.name}.", flush=True)
        return latest

    def fitting(self, model, order: Order, precision: str, *, padded: bool) -> Fitting:
        """Once memory has run out the estimate was wrong, and nothing is left to chance."""
        keys, room = self.lesson.keys, room_on(model.device)
        wanted = keys.gradient_checkpointing
        if room is None or wanted == "yes":
            return Fitting(None, wanted == "yes")
        if wanted == "auto" and self.state.largest_batch is not None:
            return Fitting(None, True)
        samples = self.lesson.samples
        longest = longest_row(samples, order, keys.epochs, padded=padded)
        memory = StepMemory.of(model, precision, in_pieces=not (keys.compile or keys.sharded))
        if (
            processes.count() > 1
        ):  # each makes as many rows as the others, whose gradients it waits for
            return Fitting(None, wanted == "auto" and memory.bytes(longest) > room)
        found = Fitting.choose(wanted, room, longest, int(samples.lengths.max()), memory)
        if found.most_tokens:
            print(f"Rows of more than {found.most_tokens:,} tokens do not fit and are cut apart.")
        return found

    def arguments(self, micro: int, checkpoints: bool) -> TrainingArguments:
        lesson, keys = self.lesson, self.lesson.keys
        share = keys.batch_size // keys.gpus
        arguments = TrainingArguments(
            output_dir=str(self.state.path),
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=math.ceil(share / micro),
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
            save_strategy="no",  # but when SaveAndLeave says so
            seed=derive_seed(lesson.seed, "training") % 2**32,
            use_cpu=self.device == "cpu",
            activation_checkpointing=checkpoints,
            torch_compile=keys.compile,
            report_to=[],
            remove_unused_columns=False,
            dataloader_pin_memory=self.device == "cuda",
            disable_tqdm=True,
            ddp_find_unused_parameters=False,
        )
        # It would spread a batch over all GPUs that this process sees, and a row cannot be cut.
        arguments._n_gpu = min(1, arguments.n_gpu)
        return arguments
