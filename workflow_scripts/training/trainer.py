"""transformers' Trainer over packed samples: its loop, optimiser and saved states, our batches and loss."""

import json
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from workflow_scripts.training import sharded
from workflow_scripts.training.calling import call_of, sent_to
from workflow_scripts.training.evaluated import left_as_it_was
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.loss import find_head, is_distilled, summed_loss
from workflow_scripts.training.packing import Collator, Order, cut
from workflow_scripts.training.precision import calculating_in
from workflow_scripts.training.reading import StepsToRead
from workflow_scripts.training.samples import BLANK, Samples
from workflow_scripts.training.trained_parameters import (
    SavedTensors,
    gathered_parameters,
    set_parameters,
    trained_parameters,
)


class PackedTrainer(Trainer):
    """`order` says which of the lesson's samples make a step, and `collator` what fits into a row."""

    control: TrainerControl
    _globalstep_last_logged: int

    def __init__(
        self,
        model,
        args: TrainingArguments,
        *,
        lesson: Lesson,
        order: Order,
        collator: Collator,
        callbacks: list,
        precision: str = "float32",
    ):
        super().__init__(
            model=model,
            args=args,
            train_dataset=lesson.samples,
            eval_dataset=lesson.held_out or lesson.samples,  # `evaluate` below decides
            data_collator=collator,
            callbacks=[_TellEpoch(order), *callbacks],
        )
        self._lesson, self._order = lesson, order
        self._precision, self._unread = precision, StepsToRead(args.device)
        self._sharded = sharded.is_sharded(model)
        # Compiled or shared out, a model's end cannot be run by itself.
        with calculating_in(precision, args.device.type):  # which mixed formats need
            self._head = None if args.torch_compile or self._sharded else find_head(model)
        sharded.put_apart(model)
        self.model_accepts_loss_kwargs = True  # the loss below divides by the tokens of the step
        self._distilled = is_distilled(model)

    def get_train_dataloader(self) -> DataLoader:
        # Not handed to accelerate: it would repeat samples where processes do not come out even. Nothing
        # in a step waits for a GPU, so a batch is made and sent while the step before is calculated.
        return DataLoader(
            self.train_dataset,
            batch_sampler=self._order,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def get_batch_samples(self, epoch_iterator, num_batches, device):
        """The count of a step stays on the CPU, where it is known, unless processes must add theirs up."""
        if self.args.world_size > 1:
            return super().get_batch_samples(epoch_iterator, num_batches, device)
        batches = list(islice(epoch_iterator, num_batches))
        return batches, torch.tensor(sum(len(batch["targets"]) for batch in batches))

    def _prepare_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return sent_to(self.args.device, inputs)

    def training_step(self, model, inputs, num_items_in_batch=None):
        """What has no room in a row goes through in several, whose gradients add up to the same."""
        first, *others = cut(inputs, self.data_collator.most_tokens)
        loss = super().training_step(model, first, num_items_in_batch)
        for part in others:
            loss = loss + super().training_step(model, part, num_items_in_batch)
        if self._sharded and self.accelerator.sync_gradients:
            sharded.average_gradients(model.parameters())
        return loss

    def _sync_replicated_trainable_parameters(self, model) -> None:
        """Above, and every process begins with the seed's."""

    def create_optimizer(self, model=None) -> torch.optim.Optimizer:
        """Of shared weights without groups that are empty, as adapters have one: no checkpoint puts those back."""
        optimizer = super().create_optimizer(model)
        if self._sharded:
            groups = optimizer.param_groups
            groups[:] = [group for group in groups if group["params"]]
        return optimizer

    def compute_loss_context_manager(self) -> AbstractContextManager:
        """Here and not around the model's own forward, as accelerate has it: an evaluation is run as any
        other, and nothing that was put into the model keeps it in memory.
        """
        return calculating_in(self._precision, self.args.device.type)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The mean over the counted tokens of the whole step, of which this is one micro-batch."""
        inputs, labels, counted = call_of(self.model, inputs)
        if self._distilled:
            loss = model(
                **inputs, labels=labels, use_cache=False, num_items_in_batch=num_items_in_batch
            ).loss
        else:
            loss = summed_loss(model, inputs, counted, self._head) / num_items_in_batch
        # Gradients are averaged over the processes, but the tokens are those of all of them.
        return loss * self.accelerator.num_processes

    def _maybe_log_save_evaluate(self, tr_loss, grad_norm, *args, learning_rate=None, **kwargs):
        """What a step came to stays where it was calculated, and is read when it is needed, or by many."""
        if self.control.should_log and self.state.global_step > self._globalstep_last_logged:
            self._unread.add(self.state, tr_loss, grad_norm, learning_rate)
            tr_loss.zero_()
            self._globalstep_last_logged = self.state.global_step
        self.control.should_log = False
        stops = self.control.should_training_stop
        if stops or self.control.should_save or self.control.should_evaluate or self._unread.full:
            self._read_steps()
        super()._maybe_log_save_evaluate(tr_loss, grad_norm, *args, **kwargs)

    def _read_steps(self) -> None:
        now = self.state.global_step, self.state.epoch
        for step, epoch, logs in self._unread.read(self.accelerator):
            self.state.global_step, self.state.epoch = step, epoch
            self._total_loss_scalar += logs["loss"]
            self.log(logs)
        self.state.global_step, self.state.epoch = now

    def evaluate(self, *args, **kwargs) -> dict[str, float]:
        """The loss over the held-out samples, per counted token, and what the lesson's `score` measures."""
        self.model.eval()
        metrics = {}
        if held_out := self._lesson.held_out:
            metrics["eval_loss"] = self._loss_over(held_out)
        if score := self._lesson.score:
            with left_as_it_was(self.model):
                scores = score(self.model)
            metrics |= {f"eval_{name}": value for name, value in scores.items()}
        sharded.put_apart(self.model)
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        self.model.train()
        return metrics

    def _loss_over(self, held_out: Samples) -> float:
        size, n = self._order.micro_batch_size, len(held_out)
        batches = [list(range(at, min(at + size, n))) for at in range(0, n, size)]
        processes = self.accelerator.num_processes
        batches += [[BLANK]] * (-len(batches) % processes)
        total = torch.zeros(2, dtype=torch.float64, device=self.args.device)
        with torch.no_grad():
            for numbers in batches[self.accelerator.process_index :: processes]:
                inputs = self.data_collator([held_out[number] for number in numbers])
                inputs, _, counted = call_of(self.model, self._prepare_inputs(inputs))
                with self.compute_loss_context_manager():
                    found = summed_loss(self.model_wrapped, inputs, counted, self._head)
                total[0] += found.double()
                total[1] += len(counted.targets)
        total = self.accelerator.reduce(total)
        return float(total[0] / total[1])

    def floating_point_ops(self, inputs) -> float:
        """Nobody reads their sum, for which transformers counts all parameters at each micro-batch."""
        return 0.0

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Into a state to resume from: what is trained and nothing else, adapters or not."""
        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        if self._sharded:
            sharded.save_weights(trained_parameters(self.model), folder)
        elif self.args.should_save:
            save_file(gathered_parameters(self.model), folder / _WEIGHTS)

    def take_over(self, saved: Path) -> None:
        """What the state of the last step holds; resuming from it, `train` would make one step more."""
        self._load_from_checkpoint(str(saved))
        self.state = TrainerState.load_from_json(str(saved / TRAINER_STATE_NAME))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        """What `save_model` wrote; transformers would look for whole models."""
        folder = Path(resume_from_checkpoint)
        if self._sharded:
            sharded.load_weights(trained_parameters(self.model), folder)
        else:
            set_parameters(self.model, SavedTensors(folder / _WEIGHTS))

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if not self._sharded:
            return super()._save_optimizer_and_scheduler(output_dir)
        sharded.save_optimizer(self.model, self.optimizer.optimizer, Path(output_dir))
        if self.args.should_save:
            schedule = json.dumps(self.lr_scheduler.state_dict())
            Path(output_dir, _SCHEDULE).write_text(schedule, encoding="utf-8")

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if not self._sharded or checkpoint is None:
            return super()._load_optimizer_and_scheduler(checkpoint)
        sharded.load_optimizer(self.model, self.optimizer.optimizer, Path(checkpoint))
        schedule = Path(checkpoint, _SCHEDULE).read_text(encoding="utf-8")
        self.lr_scheduler.load_state_dict(json.loads(schedule))


_WEIGHTS, _SCHEDULE = "model.safetensors", "scheduler.json"


class _TellEpoch(TrainerCallback):
    def __init__(self, order: Order):
        self._order = order

    def on_epoch_begin(self, args, state, control, **kwargs):
        self._order.set_epoch(int(state.epoch))  # a whole number where an epoch begins
