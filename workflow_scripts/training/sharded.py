"""A model that processes hold together: how it is loaded, its saved states, and what each of them holds whole.

transformers reads the weights, each process its part, and PyTorch's FSDP2 runs them. A state is one of PyTorch's
distributed checkpoints, to which each process writes what it holds, and from which any number of processes resumes.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed.checkpoint as checkpoint
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from transformers.distributed import DistributedConfig
from transformers.distributed.checkpoint import (
    load_optimizer_distributed,
    save_optimizer_distributed,
)

from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.precision import choose_precision

_WEIGHTS, _OPTIMIZER = "weights", "optimizer"


def sharing(keys: TrainingKeys, device: str) -> DistributedConfig | None:
    """How the weights are shared out among all processes, if they are."""
    if not keys.sharded:
        return None
    return DistributedConfig(
        fsdp_size=keys.gpus,
        fsdp_mixed_precision=choose_precision(keys.precision, device) == "bfloat16",
    )


def is_sharded(model) -> bool:
    return bool(getattr(model, "is_distributed_loading_by_transformers", False))


def put_apart(model) -> None:
    """After passes without a way back, which leave the last weights that they gathered where they are."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def held_here(tensor: torch.Tensor) -> torch.Tensor:
    """This process's part, or all of it."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def average_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Of the parameters that all processes hold whole, adapters beside shared weights; FSDP averages the others'.

    transformers does it with an operation that processes on CPUs do not have.
    """
    gradients = [p.grad for p in parameters if p.grad is not None and not isinstance(p, DTensor)]
    if gradients:
        together = parameters_to_vector(gradients)
        torch.distributed.all_reduce(together)
        vector_to_parameters(together / torch.distributed.get_world_size(), gradients)


def save_weights(trained: dict[str, torch.Tensor], folder: Path) -> None:
    tensors = {name: tensor.detach() for name, tensor in trained.items()}
    checkpoint.save(tensors, checkpoint_id=folder / _WEIGHTS)


def load_weights(trained: dict[str, torch.Tensor], folder: Path) -> None:
    """Into the tensors themselves."""
    tensors = {name: tensor.detach() for name, tensor in trained.items()}
    checkpoint.load(tensors, checkpoint_id=folder / _WEIGHTS)


def save_optimizer(model, optimizer, folder: Path) -> None:
    save_optimizer_distributed(model, optimizer, str(folder / _OPTIMIZER))


def load_optimizer(model, optimizer, folder: Path) -> None:
    load_optimizer_distributed(model, optimizer, str(folder / _OPTIMIZER))
