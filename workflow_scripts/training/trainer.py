"""Extend transformers' Trainer to packed samples: its loop, optimizer and checkpoints with our batches and loss."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import Trainer, TrainerControl

from workflow_scripts.training.attention import get_packing_arguments
from workflow_scripts.training.eval_mode import preserve_training_state
from workflow_scripts.training.packing import IGNORED, EpochSampler
from workflow_scripts.training.samples import Samples, iterate_batches
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.trainable_parameters import get_trained_parameters, set_parameters

WEIGHTS = "model.safetensors"


def compute_summed_loss(model, inputs: dict[str, Tensor], labels: Tensor) -> tuple[Tensor, int]:
    """Return the summed cross-entropy of all tokens in the loss, at least in float32, and their number.

    For a single row, logits are computed only for the positions in the loss.
    """
    in_loss = labels[:, 1:] != IGNORED
    targets = labels[:, 1:][in_loss]
    if len(labels) == 1:
        positions = in_loss[0].nonzero()[:, 0]
        logits = model(**inputs, use_cache=False, logits_to_keep=positions).logits.squeeze(0)
    else:
        logits = model(**inputs, use_cache=False).logits[:, :-1][in_loss]
    dtype = torch.promote_types(logits.dtype, torch.float32)
    return F.cross_entropy(logits.to(dtype), targets, reduction="sum"), len(targets)


class PackedTrainer(Trainer):
    """transformers' Trainer on the samples of `spec`, in its order, with micro-batches made by the data collator."""

    control: TrainerControl
    spec: TrainingSpec

    def _get_train_sampler(self, train_dataset=None) -> EpochSampler:
        return self.spec.make_sampler()

    def compute_loss_context_manager(self) -> AbstractContextManager:
        """Autocast around the loss; accelerate would instead wrap the model's forward.

        A wrapped forward would also change evaluations, and would keep the model in memory.
        """
        dtype = getattr(torch, self.spec.precision)
        if dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.args.device.type, dtype=dtype)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the micro-batch's part of the mean loss over all tokens in the loss of the step."""
        inputs, labels = self._split_inputs(inputs)
        config = self.model.config
        if getattr(config, "distillation", False) or getattr(config, "logits_distillation", False):
            # The forward of a distilled chunked model returns the loss with the distillation losses.
            return model(
                **inputs, labels=labels, use_cache=False, num_items_in_batch=num_items_in_batch
            ).loss
        return compute_summed_loss(model, inputs, labels)[0] / num_items_in_batch

    def _split_inputs(self, inputs: dict[str, Any]) -> tuple[dict[str, Any], Tensor]:
        """Return the model's arguments and the labels."""
        inputs = dict(inputs)
        lengths = inputs.pop("lengths", None)
        if lengths is not None:
            inputs |= get_packing_arguments(self.model, lengths)
        return inputs, inputs.pop("labels")

    def evaluate(self, *args, **kwargs) -> dict[str, float]:
        """Compute the mean held-out loss per token in the loss, and the metrics of the spec's `score`."""
        self.model.eval()
        metrics = {}
        if self.spec.held_out:
            metrics["eval_loss"] = self._compute_mean_loss(self.spec.held_out)
        if self.spec.score:
            with preserve_training_state(self.model):
                scores = self.spec.score(self.model)
            metrics |= {f"eval_{name}": value for name, value in scores.items()}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        self.model.train()
        return metrics

    def _compute_mean_loss(self, held_out: Samples) -> float:
        total = torch.zeros(2, dtype=torch.float64, device=self.args.device)
        with torch.no_grad(), self.compute_loss_context_manager():
            for samples in iterate_batches(held_out, self.args.train_batch_size):
                inputs = self._prepare_inputs(self.data_collator(samples))
                loss, tokens = compute_summed_loss(self.model, *self._split_inputs(inputs))
                total += torch.stack([loss.double(), torch.tensor(tokens).to(total)])
        return float(total[0] / total[1])

    def _determine_best_metric(self, metrics: dict[str, float], trial) -> bool:
        """Save each new best state, and the last state of early stopping."""
        is_best = super()._determine_best_metric(metrics, trial)
        self.control.should_save |= is_best or self.control.should_training_stop
        return is_best

    def floating_point_ops(self, inputs) -> float:
        """Return 0, because transformers' estimate counts all parameters at each micro-batch."""
        return 0.0

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the trained parameters, with or without adapters, to a checkpoint to resume from."""
        if output_dir is not None:
            folder = Path(output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            trained = get_trained_parameters(self.model).items()
            # Copies, because the layers of a fused model share memory.
            tensors = {name: p.detach().to("cpu", copy=True).contiguous() for name, p in trained}
            save_file(tensors, folder / WEIGHTS)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        """Load the parameters that `save_model` wrote; transformers would look for a complete model."""
        parameters = load_file(Path(resume_from_checkpoint) / WEIGHTS)
        set_parameters(self.model, parameters)
