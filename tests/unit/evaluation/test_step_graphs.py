"""Steps recorded as CUDA graphs, with a stand-in for what PyTorch has for GPUs: when, and what if not."""

from types import SimpleNamespace

import pytest
import torch

from workflow_scripts.evaluation.prefix.graphs import OFTEN, StepGraphs

SHAPES = ["wide"] * 9 + ["narrow"] * OFTEN + ["wide"] * 2


class Graph:
    def __init__(self):
        self.replay = lambda: None


class Recording:
    """In place of torch.cuda: what runs while a graph is recorded changes nothing until it is replayed."""

    def __init__(self, state: torch.Tensor):
        self.state, self.stream, self.debug = state, "the caller's", 0
        self.attempts, self.rehearsed = 0, 0
        self.fails: dict[str, Exception] = {}  # where, and how

    def graph(self, graph: Graph, pool):
        assert pool == "pool"
        self.attempts += 1
        return Capture(self, graph)

    def set_debug(self, mode) -> None:
        self.debug = mode

    def set_stream(self, stream) -> None:
        self.stream = stream

    def step(self) -> torch.Tensor:
        where = "recorded" if self.stream == "recording" else "rehearsed"
        if where == "recorded" or self.debug == "error":
            self.rehearsed += where == "rehearsed"
            self.state[0] = -1  # half a step
            if error := self.fails.get(where):
                raise error
            self.state[0] = self.state[1]
        self.state += 1
        return 10 * self.state


class Capture:
    def __init__(self, cuda: Recording, graph: Graph):
        self.cuda, self.graph = cuda, graph

    def __enter__(self):
        self.left, self.cuda.stream = self.cuda.stream, "recording"
        self.before = self.cuda.state.clone()

    def __exit__(self, *args):
        if error := self.cuda.fails.get("ended"):
            raise error
        self.cuda.stream = self.left
        self.cuda.state.copy_(self.before)
        self.graph.replay = self.cuda.step


@pytest.fixture
def cuda(monkeypatch):
    found = Recording(torch.zeros(2))
    for name, stub in {
        "CUDAGraph": Graph,
        "graph": found.graph,
        "graph_pool_handle": lambda: "pool",
        "current_stream": lambda: found.stream,
        "set_stream": found.set_stream,
        "get_sync_debug_mode": lambda: found.debug,
        "set_sync_debug_mode": found.set_debug,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stub)
    return found


def new_model():
    return SimpleNamespace(records_steps=True)


def run(model, cuda: Recording, shapes=tuple(SHAPES)) -> StepGraphs:
    """Whatever is recorded, the state is that of so many steps, and so are the logits of each as it runs."""
    graphs = StepGraphs(model)
    cuda.state.zero_()
    for number, shape in enumerate(shapes, start=1):
        graphs.run(shape, cuda.step, [cuda.state])
        assert cuda.state.tolist() == [number, number]
        assert (cuda.stream, cuda.debug) == ("the caller's", 0)
    return graphs


def test_a_shape_is_recorded_once_and_only_if_it_occurs_often(cuda):
    model = new_model()
    graphs = run(model, cuda)
    assert (cuda.attempts, cuda.rehearsed) == (1, 1)
    assert [*graphs._recorded] == ["wide"]
    assert model.records_steps
    run(model, cuda, ["wide"] * OFTEN)
    assert cuda.attempts == 1, "another cache has graphs of its own, if they are worth it"


@pytest.mark.parametrize("where", ["rehearsed", "recorded", "recorded and ended", "ended"])
@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError, RuntimeError])
def test_where_recording_fails_steps_go_on_as_they_are(where, error, cuda, capsys):
    model = new_model()
    cuda.fails = {place: error("no stream") for place in where.split(" and ")}
    graphs = run(model, cuda)
    assert cuda.attempts == (where != "rehearsed"), (
        "who waits for the device is not recorded at all"
    )
    assert not graphs._recorded
    assert capsys.readouterr().out.count("are not recorded as CUDA graphs: no stream") == 1
    run(model, cuda)
    assert cuda.rehearsed == 1, "what has failed is not tried again with the next answers"


def test_nothing_is_recorded_under_autocast(cuda, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind == "cuda")
    run(new_model(), cuda)
    assert not cuda.attempts
