"""The order in which a chunked model runs its layers, behind the list `model.layers`.

The base model's forward walks `self.layers[:n]` and gives each what it finds the hidden state. Here
the list keeps all layers under their own names, and that slice gives the stages of the plan instead:
one per shared layer, and one for all chunks together. So nothing of the base model is rewritten.
"""

from collections.abc import Iterable
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from workflow_scripts.chunked.depth import Depth, Step
from workflow_scripts.chunked.stacked import Watch
from workflow_scripts.chunked.wrapper import WrappedChunkLayers
from workflow_scripts.core.plan import ChunkPlan


class Run:
    """What the stages share while they run."""

    def __init__(self):
        self.fused = False
        self._step_of = self._step = None

    def step(self, config, position_embeddings: tuple[Tensor, Tensor]) -> Step:
        if torch.compiler.is_compiling():
            return Step(config, position_embeddings)
        if self._step_of is not position_embeddings:
            self._step_of, self._step = position_embeddings, Step(config, position_embeddings)
        return self._step


class SharedStage(nn.Module):
    """One layer that all chunks share: the base model's own, or the same as a depth of one."""

    def __init__(self, run: Run, layer: nn.Module, slot: int):
        super().__init__()
        self.run = run
        self.layer = (layer,)
        self.config = layer.self_attn.config
        self.depths = nn.ModuleList([Depth((layer,), slot)])

    def prepare(self) -> None:
        self.depths[0].prepare(None)

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        if not self.run.fused:
            return self.layer[0](hidden_states, **kwargs)
        rows, _, hidden = hidden_states.shape
        step = self.run.step(self.config, kwargs.pop("position_embeddings"))
        x = hidden_states.reshape(1, -1, hidden)
        return self.depths[0](x, rows=rows, step=step, **kwargs).view_as(hidden_states)


class ChunkStage(nn.Module):
    """All chunks: the same hidden state into each, their outputs aggregated into one."""

    def __init__(self, run: Run, model: nn.Module, chunks: tuple[tuple[int, ...], ...], slot: int):
        super().__init__()
        self.run = run
        self.model = (model,)
        self.numbers = tuple(zip(*chunks, strict=True))  # by depth, as they run
        self.depths = nn.ModuleList(
            [
                Depth(tuple(model.layers[number] for number in numbers), slot + at)
                for at, numbers in enumerate(self.numbers)
            ]
        )

    def prepare(self) -> None:
        # PEFT's trainable copy of the wrapper is switched on and off; what it holds now may not be
        # what it holds at the next step, so its adapters are not stacked.
        self.adapters_apart = type(self._wrapper()) is not WrappedChunkLayers
        for depth, numbers in zip(self.depths, self.numbers, strict=True):
            adapters = self._adapters(numbers)
            depth.prepare(None if self.adapters_apart else adapters)

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        run = self._fused if self.run.fused else self._loop
        return self._wrapper()(run(hidden_states, **kwargs), hidden_states)

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
        """The plain reference, and the way across devices: by depth, so that all devices are busy."""
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


class PlannedLayers(nn.ModuleList):
    """`model.layers`: every layer under its number, and, as a slice, the stages in running order."""

    def __init__(self, layers: Iterable[nn.Module], model: nn.Module, plan: ChunkPlan):
        super().__init__(layers)
        self.model = (model,)
        self.plan = plan
        self.run = Run()
        self.watch: Watch | None = None
        self.one_device: bool | None = None
        self.unchunked = self.needs_loop = False
        self.states: list[Tensor] | None = None  # of the main stream, while `recording` is on

    def build_stages(self) -> nn.ModuleList:
        shared, chunks, end = self.plan.start, self.plan.chunks, self.plan.end
        order = (*shared, *(number for chunk in chunks for number in chunk), *end)
        for slot, number in enumerate(order):
            self[number].self_attn.layer_idx = slot
        depths = len(chunks[0]) if chunks else 0
        stages = [SharedStage(self.run, self[n], slot) for slot, n in enumerate(shared)]
        if chunks:
            stages.append(ChunkStage(self.run, self.model[0], chunks, len(shared)))
        behind = len(shared) + depths
        stages += [SharedStage(self.run, self[n], behind + at) for at, n in enumerate(end)]
        return nn.ModuleList(stages)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return super().__getitem__(index)
        stages = list(self) if self.unchunked else self._stages()
        return stages if self.states is None else [self._recorded(stage) for stage in stages]

    def _stages(self) -> list[nn.Module]:
        model = self.model[0]
        self.run.fused = self._can_fuse() and model.config.chunk_execution == "fused"
        if torch.compiler.is_compiling():
            # Where the weights lie is no part of a graph: a compiled model trusts its last plain
            # forward, and without one it is compiled as the loop.
            self.run.fused = self.run.fused and self.watch is not None
        elif self.run.fused and (self.watch is None or not self.watch.all_in_place()):
            self._prepare()
        return list(model.stages)

    def _can_fuse(self) -> bool:
        if not self.plan.chunks or self.needs_loop:
            return False
        if self.one_device is None:
            devices = {parameter.device for parameter in self.parameters()}
            hooked = any(hasattr(module, "_hf_hook") for module in self.modules())
            self.one_device = len(devices) == 1 and not hooked
        return self.one_device

    def _prepare(self) -> None:
        model = self.model[0]
        depths = [depth for stage in model.stages for depth in stage.depths]
        for stage in model.stages:
            stage.prepare()
        self.watch = Watch(
            [siblings for depth in depths for siblings in depth.stacks],
            also=[(model, "wrapped_chunk_layers")],
        )

    def release(self) -> None:
        """Before parameters move: let go of their old memory, and look again where they are."""
        self.watch = self.one_device = None
        for stage in self.model[0].stages:
            for depth in stage.depths:
                depth.release()

    def _recorded(self, stage: nn.Module):
        def run(hidden_states: Tensor, **kwargs) -> Tensor:
            out = stage(hidden_states, **kwargs)
            self.states.append(out)
            return out

        return run

    @contextmanager
    def recording(self, unchunked: bool = False):
        """The hidden state behind each stage; `unchunked` runs all layers in their old order."""
        self.states, self.unchunked = [], unchunked
        try:
            yield self.states
        finally:
            self.states, self.unchunked = None, False
