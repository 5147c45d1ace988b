"""transformers' Trainer over packed samples: its loop, optimiser and saved states, our batches and loss."""

import random
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from workflow_scripts.planning.arithmetic import TRAINING_OPERATIONS
from workflow_scripts.training import attention
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import IGNORED, Collator, Order
from workflow_scripts.training.samples import BLANK, Samples
from workflow_scripts.training.trained_parameters import gathered_parameters, set_parameters

Scorer = Callable[[torch.nn.Module], dict[str, float]]


class PackedTrainer(Trainer):
    """`order` says which samples make a step; `score`, where given, adds metrics to an evaluation."""

    control: TrainerControl

    def __init__(
        self,
        model,
        args: TrainingArguments,
        *,
        samples: Samples,
        order: Order,
        collator: Collator,
        held_out: Samples | None,
        score: Scorer | None,
        callbacks: list,
    ):
        super().__init__(
            model=model,
            args=args,
            train_dataset=samples,
            eval_dataset=samples if held_out is None else held_out,  # `evaluate` below decides
            data_collator=collator,
            callbacks=[_TellEpoch(order), *callbacks],
        )
        self._order, self._held_out, self._score = order, held_out, score
        self.model_accepts_loss_kwargs = True  # the loss below divides by the tokens of the step
        self._parameters = sum(p.numel() for p in model.parameters())
        # A chunked model that learns from itself adds its own losses, in its forward.
        self._distilled = bool(getattr(model.config, "distilled", False))

    def get_train_dataloader(self) -> DataLoader:
        # Not handed to accelerate: it would repeat samples where processes do not come out even.
        return DataLoader(
            self.train_dataset, batch_sampler=self._order, collate_fn=self.data_collator
        )

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The mean over the counted tokens of the whole step, of which this is one micro-batch."""
        if self._distilled:
            inputs, labels = self._call(inputs)
            loss = model(
                **inputs, labels=labels, use_cache=False, num_items_in_batch=num_items_in_batch
            ).loss
        else:
            loss = summed_loss(model, *self._call(inputs)) / num_items_in_batch
        # Gradients are averaged over the processes, but the tokens are those of all of them.
        return loss * self.accelerator.num_processes

    def _call(self, inputs: dict[str, Tensor]) -> tuple[dict[str, Any], Tensor]:
        """What the model is called with, and the labels."""
        inputs = dict(inputs)
        labels, lengths = inputs.pop("labels"), inputs.pop("lengths", None)
        if lengths is not None and self.model.config._attn_implementation == attention.NAME:
            inputs["attention_mask"] = attention.NO_MASK.to(labels.device)
            inputs["stretches"] = attention.stretches(lengths.tolist(), labels.device)
        return inputs, labels

    def evaluate(self, *args, **kwargs) -> dict[str, float]:
        """The loss over the held-out samples, per counted token, and what `score` measures."""
        self.model.eval()
        metrics = {}
        if self._held_out is not None:
            metrics["eval_loss"] = self._loss_over(self._held_out)
        if self._score is not None:
            with _left_as_it_was(self.model):
                scores = self._score(self.model)
            metrics |= {f"eval_{name}": value for name, value in scores.items()}
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
                inputs, labels = self._call(self._prepare_inputs(inputs))
                with self.compute_loss_context_manager():
                    total[0] += summed_loss(self.model_wrapped, inputs, labels).double()
                total[1] += (labels[:, 1:] != IGNORED).sum()
        total = self.accelerator.reduce(total)
        return float(total[0] / total[1])

    def floating_point_ops(self, inputs) -> float:
        """As is usual, of all parameters that run, trained or not."""
        return float(TRAINING_OPERATIONS) * inputs["input_ids"].numel() * self._parameters

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Into a state to resume from: what is trained and nothing else, adapters or not."""
        tensors = gathered_parameters(self.model)
        if self.args.should_save:
            folder = Path(output_dir or self.args.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            save_file(tensors, folder / "model.safetensors")

    def take_over(self, saved: Path) -> None:
        """What the state of the last step holds; asked to resume from it, `train` makes one step more."""
        set_parameters(self.model, load_file(saved / "model.safetensors"))
        self.state = TrainerState.load_from_json(str(saved / TRAINER_STATE_NAME))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        """What `save_model` wrote; transformers would look for files that sharded models write."""
        set_parameters(self.model, load_file(Path(resume_from_checkpoint, "model.safetensors")))


@contextmanager
def _left_as_it_was(model):
    """What an evaluation draws, and how it has the model attend, is nothing to the training."""
    states = random.getstate(), numpy.random.get_state()
    attends = model.config._attn_implementation
    with torch.random.fork_rng():
        if attends == attention.NAME:
            model.set_attn_implementation("sdpa")
        try:
            yield
        finally:
            model.set_attn_implementation(attends)
            random.setstate(states[0])
            numpy.random.set_state(states[1])


class _TellEpoch(TrainerCallback):
    def __init__(self, order: Order):
        self._order = order

    def on_epoch_begin(self, args, state, control, **kwargs):
        self._order.set_epoch(int(state.epoch))  # a whole number where an epoch begins
