"""Run the layers of a chunked model in the order of its plan, behind the list `model.layers`.

The base model's forward iterates over `self.layers[:n]` and passes the hidden state through each layer. Here the list
holds all layers under their original names, but this slice returns the stages of the plan: one per shared layer, and
one for all chunks. The code of the base model needs no change. A layer's number is its place in the base model, and its
cache index its place in the key-value cache.
"""

from collections.abc import Iterable
from contextlib import contextmanager
from itertools import chain

import torch
from accelerate.utils import send_to_device
from torch import Tensor, nn

from workflow_scripts.chunked.fused_layer import FusedLayer, SharedInputs
from workflow_scripts.chunked.stacked import StalenessCheck, has_hooks
from workflow_scripts.core.chunk_plan import ChunkPlan


class DeviceChunks(nn.Module):
    """The chunks of one device; the layers of a depth run fused as one, or one after another."""

    def __init__(self, model: nn.Module, chunks: tuple[tuple[int, ...], ...], cache_index: int):
        super().__init__()
        self.model = (model,)  # a tuple, so that torch does not register the model twice
        self.layer_numbers = tuple(zip(*chunks, strict=True))  # at each depth, one of each chunk
        self.fused_layers = nn.ModuleList(
            FusedLayer(model.layers[siblings[0]], cache_index + depth)
            for depth, siblings in enumerate(self.layer_numbers)
        )

    @property
    def layers(self) -> "PlannedLayers":
        return self.model[0].layers

    def prepare(self) -> None:
        for fused_layer, numbers in zip(self.fused_layers, self.layer_numbers, strict=True):
            layers = tuple(self.layers[number] for number in numbers)
            fused_layer.prepare(layers, self._get_adapters(numbers))

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        """Return the outputs of the chunks, stacked along a new first dimension."""
        if self.layers.is_spread:
            device = next(self.layers[self.layer_numbers[0][0]].parameters()).device
            hidden_states, kwargs = send_to_device((hidden_states, kwargs), device)
        run = self._run_fused if self.layers.fused else self._run_loop
        return run(hidden_states, **kwargs)

    def _run_fused(self, hidden_states: Tensor, **kwargs) -> Tensor:
        rows, tokens, hidden = hidden_states.shape
        k = len(self.layer_numbers[0])
        inputs = self.layers.get_shared_inputs(kwargs.pop("position_embeddings"))
        x = hidden_states.reshape(1, -1, hidden).expand(k, -1, -1)
        for fused_layer in self.fused_layers:
            x = fused_layer(x, rows=rows, inputs=inputs, **kwargs)
        return x.view(k, rows, tokens, hidden)

    def _run_loop(self, hidden_states: Tensor, **kwargs) -> Tensor:
        """Run layer by layer, as the reference; in order of depth, so that all devices are busy."""
        states = [hidden_states] * len(self.layer_numbers[0])
        for numbers in self.layer_numbers:
            adapters = self._get_adapters(numbers)
            for chunk, number in enumerate(numbers):
                x = states[chunk] if adapters is None else adapters[chunk](states[chunk])
                states[chunk] = self.layers[number](x, **kwargs)
        return torch.stack([state.to(hidden_states.device) for state in states])

    def _get_adapters(self, numbers: tuple[int, ...]) -> list[nn.Module] | None:
        adapters = self.model[0].wrapped_chunk_layers.adapters or {}
        names = list(map(str, numbers))
        return [adapters[name] for name in names] if names[0] in adapters else None


class SharedStage(DeviceChunks):
    """A layer outside the chunks, run by the base model's code or fused as a depth of one layer."""

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        if self.layers.fused:
            return self._run_fused(hidden_states, **kwargs)[0]
        return self.layers[self.layer_numbers[0][0]](hidden_states, **kwargs)


class ChunkStage(nn.Module):
    """All chunks, run on the same hidden state, and the aggregation of their outputs.

    Chunks are distributed over the devices round-robin.
    """

    def __init__(self, model: nn.Module, plan: ChunkPlan, num_devices: int):
        super().__init__()
        self.model = (model,)
        self.num_chunks = len(plan.chunks)
        first_index, depth = len(plan.start), len(plan.chunks[0])
        self.device_chunks = nn.ModuleList(
            DeviceChunks(model, plan.chunks[device::num_devices], first_index + device * depth)
            for device in range(num_devices)
        )

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        # GPUs run asynchronously, so all of them work before the first output is read.
        by_device = [chunks(hidden_states, **kwargs) for chunks in self.device_chunks]
        outputs = by_device[0]
        num_devices = len(by_device)
        if num_devices > 1:
            by_device = [output.to(hidden_states.device) for output in by_device]
            outputs = torch.stack(
                [by_device[n % num_devices][n // num_devices] for n in range(self.num_chunks)]
            )
        return self.model[0].wrapped_chunk_layers(outputs, hidden_states)


class PlannedLayers(nn.ModuleList):
    """The list of all layers by number; a slice returns the stages in execution order."""

    def __init__(self, layers: Iterable[nn.Module], model: nn.Module):
        super().__init__(layers)
        self.model = (model,)
        self.staleness_check: StalenessCheck | None = None
        self.fused = self.is_spread = self.unchunked = False
        self.position_embeddings: tuple[Tensor, Tensor] | None = None
        # The classes of the layers and the wrapper when they were built.
        self.original_classes: list[type] = []
        self.recorded_states: list[Tensor] | None = None  # a list only inside `record_states`

    def build_stages(self, plan: ChunkPlan, num_devices: int = 1) -> nn.ModuleList:
        """Build the stages of a plan, with the chunks distributed over at most `num_devices` devices."""
        self.release()
        self.plan = plan
        model = self.model[0]
        num_devices = max(1, min(num_devices, len(plan.chunks)))
        self.is_spread = num_devices > 1
        order = (*plan.start, *chain(*plan.chunks), *plan.end)
        for cache_index, number in enumerate(order):
            self[number].self_attn.layer_idx = cache_index
        self.original_classes = self.original_classes or list(map(type, self._list_modules()))
        stages = [SharedStage(model, ((n,),), index) for index, n in enumerate(plan.start)]
        end_index = len(stages)
        if plan.chunks:
            stages.append(ChunkStage(model, plan, num_devices))
            # A fused layer has one place in the cache for all its siblings.
            end_index += num_devices * len(plan.chunks[0])
        stages += [SharedStage(model, ((n,),), end_index + i) for i, n in enumerate(plan.end)]
        return nn.ModuleList(stages).train(model.training)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return super().__getitem__(index)
        stages = list(self) if self.unchunked else self._get_stages()
        if self.recorded_states is None:
            return stages
        return [_record_output(stage, self.recorded_states) for stage in stages]

    def _get_stages(self) -> list[nn.Module]:
        model = self.model[0]
        is_fused = model.config.chunk_execution == "fused"
        is_fresh = self.staleness_check is not None and self.staleness_check.is_fresh()
        if self.plan.chunks and is_fused and not is_fresh:
            self.staleness_check = self._prepare() if self._can_fuse() else None
        self.fused = is_fused and self.staleness_check is not None
        return list(model.stages)

    def get_shared_inputs(self, position_embeddings: tuple[Tensor, Tensor]) -> SharedInputs:
        """Compute the inputs shared by all depths, once per forward pass."""
        if self.position_embeddings is not position_embeddings:
            self.position_embeddings = position_embeddings
            self.shared_inputs = SharedInputs(self.model[0].config, position_embeddings)
        return self.shared_inputs

    def _list_modules(self) -> list[nn.Module]:
        wrapper = getattr(self.model[0], "wrapped_chunk_layers", None)
        return [*self.modules(), *(wrapper.modules() if wrapper else ())]

    def _can_fuse(self) -> bool:
        """Return whether no module has hooks, shared weights or another class, such as those of LoRA and quantisation.

        Fused execution does not call the layers.
        """
        modules = self._list_modules()
        if list(map(type, modules)) != self.original_classes or any(map(has_hooks, modules)):
            return False
        parameters = [p for module in modules for p in module.parameters(recurse=False)]
        return len({*map(id, parameters)}) == len(parameters)

    def _prepare(self) -> StalenessCheck:
        """Stack the weights of all fused layers, and return a check that tells when to do it again."""
        model = self.model[0]
        for module in model.stages.modules():
            if isinstance(module, DeviceChunks):
                module.prepare()
        return StalenessCheck(model)

    def release(self) -> None:
        """Drop the stacks, so that their memory is freed when the parameters move."""
        self.staleness_check = None
        for module in self.model[0].modules():
            if isinstance(module, FusedLayer):
                module.stacks = {}

    @contextmanager
    def record_states(self, unchunked: bool = False):
        """Record the hidden state after each stage; `unchunked` runs all layers in their original order."""
        self.recorded_states, self.unchunked = [], unchunked
        try:
            yield self.recorded_states
        finally:
            self.recorded_states, self.unchunked = None, False


def _record_output(stage: nn.Module, states: list[Tensor]):
    def run(hidden_states: Tensor, **kwargs) -> Tensor:
        out = stage(hidden_states, **kwargs)
        states.append(out)
        return out

    return run
