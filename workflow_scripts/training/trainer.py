"""transformers' Trainer over packed samples: its loop, optimiser and checkpoints, our batches and loss."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainerControl, TrainingArguments

from workflow_scripts.training.attention import packing_arguments
from workflow_scripts.training.eval_mode import preserve_training_state
from workflow_scripts.training.loss import is_distilled, summed_loss
from workflow_scripts.training.packing import Collator, Order
from workflow_scripts.training.precision import autocast_to
from workflow_scripts.training.samples import Samples, batches
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.trainable_parameters import copy_parameters, set_parameters

WEIGHTS = "model.safetensors"


class PackedTrainer(Trainer):
    """Train on the lesson's samples in the order's steps, in the collator's rows."""

    control: TrainerControl

    def __init__(
        self,
        model,
        args: TrainingArguments,
        *,
        lesson: TrainingSpec,
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
        self._lesson, self._order, self._precision = lesson, order, precision
        self.model_accepts_loss_kwargs = True  # the loss below divides by the tokens of the step

    def get_train_dataloader(self) -> DataLoader:
        # Not handed to accelerate: it would repeat samples where processes do not come out even.
        return DataLoader(
            self.train_dataset,
            batch_sampler=self._order,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def compute_loss_context_manager(self) -> AbstractContextManager:
        """Autocast here and not around the model's own forward, as accelerate has it: an evaluation is
        run as any other, and nothing that was put into the model keeps it in memory.
        """
        return autocast_to(self._precision, self.args.device.type)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the mean over the counted tokens of the whole step, of which this is a micro-batch."""
        inputs, labels = self._split_inputs(inputs)
        if is_distilled(self.model):
            loss = model(
                **inputs, labels=labels, use_cache=False, num_items_in_batch=num_items_in_batch
            ).loss
        else:
            loss = summed_loss(model, inputs, labels)[0] / num_items_in_batch
        # Gradients are averaged over the processes, but the tokens are those of all of them.
        return loss * self.accelerator.num_processes

    def _split_inputs(self, inputs: dict[str, Any]) -> tuple[dict[str, Any], Tensor]:
        """Return what the model is called with, and the labels."""
        inputs = dict(inputs)
        lengths = inputs.pop("lengths", None)
        if lengths is not None:
            inputs |= packing_arguments(self.model, lengths)
        return inputs, inputs.pop("labels")

    def evaluate(self, *args, **kwargs) -> dict[str, float]:
        """Measure the loss over the held-out samples, per counted token, and the lesson's own score."""
        self.model.eval()
        metrics = {}
        if self._lesson.held_out:
            metrics["eval_loss"] = self._mean_loss(self._lesson.held_out)
        if self._lesson.score:
            with preserve_training_state(self.model):
                scores = self._lesson.score(self.model)
            metrics |= {f"eval_{name}": value for name, value in scores.items()}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        self.model.train()
        return metrics

    def _mean_loss(self, held_out: Samples) -> float:
        total = torch.zeros(2, dtype=torch.float64, device=self.args.device)
        with torch.no_grad(), self.compute_loss_context_manager():
            for samples in batches(
                map(held_out.__getitem__, range(len(held_out))), self._order.micro_batch_size
            ):
                inputs = self._prepare_inputs(self.data_collator(samples))
                loss, tokens = summed_loss(self.model, *self._split_inputs(inputs))
                total += torch.stack([loss.double(), torch.tensor(tokens).to(total)])
        return float(total[0] / total[1])

    def _determine_best_metric(self, metrics: dict[str, float], trial) -> bool:
        """Save each new best state; with patience end with the first evaluation that is no better."""
        had_best = self.state.best_global_step is not None
        is_best = super()._determine_best_metric(metrics, trial)
        if self._lesson.keys.select == "patience" and had_best and not is_best:
            self.control.should_training_stop = True
        self.control.should_save |= is_best or self.control.should_training_stop
        return is_best

    def floating_point_ops(self, inputs) -> float:
        """Nobody reads their sum, for which transformers counts all parameters at each micro-batch."""
        return 0.0

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save what is trained and nothing else, adapters or not, into a checkpoint to resume from."""
        if self.args.should_save and output_dir is not None:
            folder = Path(output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            save_file(copy_parameters(self.model), folder / WEIGHTS)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        """Load what `save_model` wrote; transformers would look for whole models."""
        set_parameters(self.model, load_file(Path(resume_from_checkpoint) / WEIGHTS))


class _TellEpoch(TrainerCallback):
    def __init__(self, order: Order):
        self._order = order

    def on_epoch_begin(self, args, state, control, **kwargs):
        self._order.epoch = int(state.epoch)  # a whole number where an epoch begins
