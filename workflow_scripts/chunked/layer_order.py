"""The order in which a chunked model runs its layers, behind the list `model.layers`.

The base model's forward walks `self.layers[:n]` and gives each what it finds the hidden state. Here
the list keeps all layers under their own names, and that slice gives the stages of the plan instead:
one per shared layer, and one for all chunks together. So nothing of the base model is rewritten.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import torch
from accelerate.utils import send_to_device
from torch import Tensor, nn

from workflow_scripts.chunked.depth import Depth, SharedInputs
from workflow_scripts.chunked.products import Timing
from workflow_scripts.chunked.side_by_side import side_by_side
from workflow_scripts.chunked.stacked import Watch, has_hooks, kinds_of
from workflow_scripts.chunked.windows import slots_of
from workflow_scripts.chunked.wrapper import WrappedChunkLayers
from workflow_scripts.core.plan import ChunkPlan


class Run:
    """What the stages share while they run."""

    def __init__(self):
        self.fused = False
        self.timing = Timing()
        self.in_turn = False  # across devices as well
        self._last: dict = {}  # by device; each value one pair, so that two threads cannot mix theirs

    def step(self, config, position_embeddings: tuple[Tensor, Tensor]) -> SharedInputs:
        if torch.compiler.is_compiling():
            return SharedInputs(config, position_embeddings)
        device = position_embeddings[0].device
        of, step = self._last.get(device, (None, None))
        if of is not position_embeddings:
            step = SharedInputs(config, position_embeddings)
            self._last[device] = position_embeddings, step
        return step


class SharedStage(nn.Module):
    """One layer that all chunks share: the base model's own, or the same as a depth of one."""

    def __init__(self, run: Run, model: nn.Module, number: int, slot: int):
        super().__init__()
        self.run = run
        self.model = (model,)  # in a tuple, so that nothing is registered a second time
        self.number = number
        fusible = [Depth(model.layers[number], slot, run.timing)] if model.is_fusible else []
        self.depths = nn.ModuleList(fusible)

    def prepare(self) -> None:
        self.depths[0].prepare((self.model[0].layers[self.number],), None)

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        if not self.run.fused:
            return self.model[0].layers[self.number](hidden_states, **kwargs)
        rows, _, hidden = hidden_states.shape
        step = self.run.step(self.model[0].config, kwargs.pop("position_embeddings"))
        x = hidden_states.reshape(1, -1, hidden)
        return self.depths[0](x, rows=rows, step=step, **kwargs).view_as(hidden_states)


class DeviceChunks(nn.Module):
    """The chunks that one device runs: the layers of a depth as one, or one after the other."""

    def __init__(self, run: Run, model: nn.Module, chunks: Sequence[tuple[int, ...]], slot: int):
        super().__init__()
        self.run = run
        self.model = (model,)
        self.numbers = tuple(zip(*chunks, strict=True))  # by depth, as they run
        self.depths = nn.ModuleList(
            Depth(model.layers[row[0]], at, run.timing)
            for at, row in enumerate(self.numbers, slot)
            if model.is_fusible
        )

    @property
    def device(self) -> torch.device:
        """Where the layers lie now."""
        return next(self.model[0].layers[self.numbers[0][0]].parameters()).device

    def prepare(self) -> None:
        # PEFT's trainable copy of the wrapper is switched on and off; what it holds now may not be
        # what it holds at the next step, so its adapters are not stacked.
        self.adapters_apart = type(self._wrapper()) is not WrappedChunkLayers
        for depth, numbers in zip(self.depths, self.numbers, strict=True):
            adapters = self._adapters(numbers)
            layers = tuple(self.model[0].layers[number] for number in numbers)
            depth.prepare(layers, None if self.adapters_apart else adapters)

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        """The outputs of the chunks, stacked in front."""
        return (self._fused if self.run.fused else self._loop)(hidden_states, **kwargs)

    def sent(self, hidden_states: Tensor, **kwargs) -> Callable[[], Tensor]:
        """The work of running what is given, which is on the device of the layers from now on."""
        device = self.device
        if hidden_states.device != device:
            hidden_states, kwargs = send_to_device((hidden_states, kwargs), device)
        return lambda: self(hidden_states, **kwargs)

    def _fused(self, hidden_states: Tensor, **kwargs) -> Tensor:
        rows, tokens, hidden = hidden_states.shape
        k = len(self.numbers[0])
        step = self.run.step(self.model[0].config, kwargs.pop("position_embeddings"))
        x = hidden_states.reshape(1, -1, hidden).expand(k, -1, -1)
        for depth, numbers in zip(self.depths, self.numbers, strict=True):
            if self.adapters_apart and (adapters := self._adapters(numbers)):
                x = torch.stack([adapter(one) for adapter, one in zip(adapters, x, strict=True)])
            x = depth(x, rows=rows, step=step, **kwargs)
        return x.view(k, rows, tokens, hidden)

    def _loop(self, hidden_states: Tensor, **kwargs) -> Tensor:
        """The plain reference, and what accelerate has placed: by depth, so that all devices are busy."""
        states = [hidden_states] * len(self.numbers[0])
        for numbers in self.numbers:
            adapters = self._adapters(numbers)
            for chunk, number in enumerate(numbers):
                x = states[chunk] if adapters is None else adapters[chunk](states[chunk])
                states[chunk] = self.model[0].layers[number](x, **kwargs)
        return torch.stack([state.to(hidden_states.device) for state in states])

    def _wrapper(self) -> nn.Module:
        return self.model[0].wrapped_chunk_layers

    def _adapters(self, numbers: tuple[int, ...]) -> list[nn.Module] | None:
        adapters = self._wrapper().adapters
        return None if adapters is None else [adapters[str(number)] for number in numbers]


class ChunkStage(nn.Module):
    """All chunks: the same hidden state into each, their outputs aggregated into one.

    Chunk i belongs to the device i, counted round and round.
    """

    def __init__(
        self,
        run: Run,
        model: nn.Module,
        chunks: tuple[tuple[int, ...], ...],
        slot: int,
        devices: int,
    ):
        super().__init__()
        self.run = run
        self.model = (model,)
        self.chunks = len(chunks)
        depths = len(chunks[0])
        self.columns = nn.ModuleList(
            DeviceChunks(run, model, chunks[at::devices], slot + at * depths)
            for at in range(devices)
        )

    @property
    def depths(self) -> list[Depth]:
        return [depth for column in self.columns for depth in column.depths]

    def prepare(self) -> None:
        for column in self.columns:
            column.prepare()

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        if len(self.columns) == 1:
            outputs = self.columns[0](hidden_states, **kwargs)
        else:
            outputs = self._spread(hidden_states, **kwargs)
        return self.model[0].wrapped_chunk_layers(outputs, hidden_states)

    def _spread(self, hidden_states: Tensor, **kwargs) -> Tensor:
        home = hidden_states.device
        # Sent before anything runs: a copy waits for all that its device has been given to do.
        works = [column.sent(hidden_states, **kwargs) for column in self.columns]
        if self._must_take_turns(kwargs.get("past_key_values")):
            found = [work() for work in works]
        else:
            others = [column.device for column in self.columns][1:]
            found = side_by_side(works, [home, *others])
        devices = len(self.columns)
        found = [outputs.to(home) for outputs in found]
        return torch.stack([found[at % devices][at // devices] for at in range(self.chunks)])

    def _must_take_turns(self, cache) -> bool:
        """Threads are no part of a graph, draw in any order, and would grow a cache under one another."""
        if torch.compiler.is_compiling() or self.training or self.run.in_turn:
            return True
        return cache is not None and (
            getattr(cache, "layer_class_to_replicate", None) is not None
            or getattr(cache, "offloading", False)
        )


class PlannedLayers(nn.ModuleList):
    """`model.layers`: every layer under its number, and, as a slice, the stages in running order."""

    def __init__(self, layers: Iterable[nn.Module], model: nn.Module, plan: ChunkPlan):
        super().__init__(layers)
        self.model = (model,)
        self.plan = plan
        self.devices = 1  # that the chunks are spread over
        self.run = Run()
        self.watch: Watch | None = None
        self.unchunked = self.needs_loop = False
        self.states: list[Tensor] | None = None  # of the main stream, while `recording` is on

    def build_stages(self) -> nn.ModuleList:
        shared, chunks, end = self.plan.start, self.plan.chunks, self.plan.end
        order = (*shared, *(number for chunk in chunks for number in chunk), *end)
        kinds = (
            self.model[0].config.layer_types if self.model[0].mixes_windows else [""] * len(self)
        )
        for number, slot in slots_of(order, kinds).items():
            self[number].self_attn.layer_idx = slot
        devices = min(self.devices, len(chunks))
        depths = devices * len(chunks[0]) if chunks else 0
        (model,), run, behind = self.model, self.run, len(shared) + depths
        stages = [SharedStage(run, model, number, slot) for slot, number in enumerate(shared)]
        if chunks:
            stages.append(ChunkStage(run, model, chunks, len(shared), devices))
        stages += [SharedStage(run, model, number, behind + at) for at, number in enumerate(end)]
        self.kinds = kinds_of(self[order[0]])
        return nn.ModuleList(stages).train(model.training)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return super().__getitem__(index)
        stages = list(self) if self.unchunked else self._stages()
        if self.states is None:
            return stages
        return [_recorded(stage, self.states) for stage in stages]

    def _stages(self) -> list[nn.Module]:
        model = self.model[0]
        self.run.in_turn = self.needs_loop
        wanted = model.config.chunk_execution == "fused" and not self.needs_loop
        if not self.plan.chunks or not wanted:
            self.run.fused = False
        elif torch.compiler.is_compiling():
            # Where the weights lie is no part of a graph: a compiled model trusts its last plain
            # forward, and without one it is compiled as the loop.
            self.run.fused = self.watch is not None
        else:
            if self.watch is None or not self.watch.all_in_place():
                self.watch = self._prepare() if self._can_fuse() else None
            self.run.fused = self.watch is not None
        return list(model.stages)

    def _can_fuse(self) -> bool:
        """Fused, the layers themselves are never called: they must be what they were, in one place on each
        device, without hooks, and their weights must be nobody else's to move."""
        layers = [layer for layer in self if not isinstance(layer, nn.Identity)]
        parameters = list(self.parameters())
        return (
            self.model[0].is_fusible
            and all(kinds_of(layer) == self.kinds and not has_hooks(layer) for layer in layers)
            and all(len(devices) == 1 for devices in self._devices())
            and sum(1 for layer in layers for _ in layer.parameters()) == len(parameters)
            and not any(p.device.type == "cpu" and p.is_shared() for p in parameters)
        )

    def _devices(self) -> Iterator[set[torch.device]]:
        """Where the layers lie that must lie together: all, or the shared ones and each device's."""
        plan, spread = self.plan, min(self.devices, len(self.plan.chunks))
        shared = (*plan.start, *plan.end)
        parts = [tuple(chain(*plan.chunks[at::spread])) for at in range(spread)]
        parts = [shared + parts[0]] if spread == 1 else [shared, *parts]
        for part in filter(None, parts):
            yield {parameter.device for number in part for parameter in self[number].parameters()}

    def _prepare(self) -> Watch:
        model = self.model[0]
        for stage in model.stages:
            stage.prepare()
        depths = [depth for stage in model.stages for depth in stage.depths]
        wrapper = model._modules["wrapped_chunk_layers"]
        also = [(model, "wrapped_chunk_layers")]
        for number in range(len(self)):
            also.append((self, str(number)))
            if not isinstance(self[number], nn.Identity):
                also += [(self[number], "self_attn"), (self[number], "mlp")]
        if type(wrapper) is WrappedChunkLayers and wrapper.adapters is not None:
            also.append((wrapper, "adapters"))
            also += [(wrapper.adapters, number) for number in wrapper.adapters]
        return Watch([siblings for depth in depths for siblings in depth.stacks], also)

    def release(self) -> None:
        """Before parameters move: let go of their old memory."""
        self.watch = None
        for stage in getattr(self.model[0], "stages", ()):
            for depth in stage.depths:
                depth.release()

    @contextmanager
    def recording(self, unchunked: bool = False):
        """The hidden state behind each stage; `unchunked` runs all layers in their old order."""
        self.states, self.unchunked = [], unchunked
        try:
            yield self.states
        finally:
            self.states, self.unchunked = None, False


def _recorded(stage: nn.Module, states: list[Tensor]):
    def run(hidden_states: Tensor, **kwargs) -> Tensor:
        out = stage(hidden_states, **kwargs)
        states.append(out)
        return out

    return run
