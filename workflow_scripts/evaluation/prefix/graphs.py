"""A step recorded as a CUDA graph for each shape it occurs in, and replayed from then on."""

from collections.abc import Callable, Hashable, Sequence

import torch


class StepGraphs:
    def __init__(self):
        self._recorded: dict[Hashable, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        self._works = not torch.is_autocast_enabled("cuda")  # whose cast weights a graph would lose
        self._pool = None

    def run(
        self, shape: Hashable, step: Callable[[], torch.Tensor], state: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """A step's logits; `state` are the tensors that it reads and changes in place."""
        if self._works and shape not in self._recorded:
            before = [tensor.clone() for tensor in state]
            self._record(shape, step)
            for tensor, value in zip(state, before, strict=True):
                tensor.copy_(value)
        if shape not in self._recorded:
            return step()
        graph, logits = self._recorded[shape]
        graph.replay()
        return logits

    def _record(self, shape: Hashable, step: Callable[[], torch.Tensor]) -> None:
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up in a run that is not recorded
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                logits = step()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a model that waits for the device within a step
            print(f"Steps of generation are not recorded as CUDA graphs: {error}", flush=True)
            self._works = False
            return
        self._recorded[shape] = (graph, logits)
