"""A step recorded as a CUDA graph for each shape that occurs often, and replayed from then on.

Recording is tried, never relied on: where it fails, for whatever reason, steps go on as they are.
"""

from collections import Counter
from collections.abc import Callable, Hashable

import torch

# Times that a shape runs as it is, which sets libraries up. Recording it takes as long as a few steps.
OFTEN = 4

Step = Callable[[], torch.Tensor]


class StepGraphs:
    """The recorded steps of a CausalModel, which remembers where its steps cannot be recorded."""

    def __init__(self, model):
        self._model = model
        # A graph would lose the weights that autocast has cast.
        self._is_off = torch.is_autocast_enabled("cuda")
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        self._counts: Counter[Hashable] = Counter()

    def run(self, shape: Hashable, step: Step, state: torch.Tensor) -> torch.Tensor:
        """Return a step's logits; `state` is what it reads and changes in place."""
        self._counts[shape] += 1
        is_off = self._is_off or not self._model.records_steps
        if shape not in self._graphs and not is_off and self._counts[shape] > OFTEN:
            before = state.clone()
            self._record(shape, step)
            state.copy_(before)
        if shape not in self._graphs:
            return step()
        graph, logits = self._graphs[shape]
        graph.replay()
        return logits

    def _record(self, shape: Hashable, step: Step) -> None:
        stream = torch.cuda.current_stream()
        mode = torch.cuda.get_sync_debug_mode()
        try:
            # A step that waits for the device would spoil what is recorded beyond repair: try it before.
            torch.cuda.set_sync_debug_mode("error")
            step()
            torch.cuda.set_sync_debug_mode(mode)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits = step()
            self._graphs[shape] = graph, logits
        except RuntimeError as error:
            print(f"Steps of generation are not recorded as CUDA graphs: {error}", flush=True)
            self._model.records_steps = False
            self._graphs.clear()  # and with them the memory that they take
        finally:  # PyTorch leaves its own stream only where recording can be ended
            torch.cuda.set_sync_debug_mode(mode)
            torch.cuda.set_stream(stream)
