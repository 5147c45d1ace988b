"""A step recorded as a CUDA graph for each shape that occurs often, and replayed from then on.

Recording is tried, never relied on: where it fails, for whatever reason, steps go on as they are.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import torch

# Times that a shape runs as it is, which sets libraries up. Recording it takes as long as a few steps.
OFTEN = 4

Step = Callable[[], torch.Tensor]


class StepGraphs:
    def __init__(self, model):
        """Of a CausalModel, which remembers where its steps cannot be recorded."""
        self._model = model
        # A graph would lose the weights that autocast has cast.
        self._casts_weights = torch.is_autocast_enabled("cuda")
        self._recorded: dict[Hashable, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        self._times: Counter[Hashable] = Counter()
        self._pool = None

    def run(self, shape: Hashable, step: Step, state: Sequence[torch.Tensor]) -> torch.Tensor:
        """A step's logits; `state` are the tensors that it reads and changes in place."""
        if shape not in self._recorded and self._is_worth_it(shape):
            before = [tensor.clone() for tensor in state]
            self._record(shape, step)
            for tensor, value in zip(state, before, strict=True):
                tensor.copy_(value)
        if shape not in self._recorded:
            return step()
        graph, logits = self._recorded[shape]
        graph.replay()
        return logits

    def _is_worth_it(self, shape: Hashable) -> bool:
        self._times[shape] += 1
        can = self._model.records_steps and not self._casts_weights
        return can and self._times[shape] > OFTEN

    def _record(self, shape: Hashable, step: Step) -> None:
        try:
            _rehearse(step)
            self._pool = self._pool or torch.cuda.graph_pool_handle()
            self._recorded[shape] = _captured(step, self._pool)
        except RuntimeError as error:  # a model that waits for the device, or no memory is left
            print(f"Steps of generation are not recorded as CUDA graphs: {error}", flush=True)
            self._model.records_steps = False
            self._recorded.clear()  # and with them what they take


def _rehearse(step: Step) -> None:
    """Run a step that may not wait for the device: one that does would spoil what is being recorded,
    and what is spoilt cannot be cleaned up altogether."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _captured(step: Step, pool) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, pool=pool):
            logits = step()
    finally:  # PyTorch leaves its own stream only where recording can be ended
        torch.cuda.set_stream(stream)
    return graph, logits
