"""Steps recorded as CUDA graphs, with a stand-in for what PyTorch has for GPUs."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from workflow_scripts.evaluation.prefix.graphs import OFTEN, StepGraphs


class Device:
    """In place of torch.cuda: a recorded step leaves the state and runs when it is replayed."""

    def __init__(self, monkeypatch):
        self.state = torch.zeros(2)
        self.mode, self.stream, self.recorded = 0, "own", 0
        self.error: Exception | None = None
        for name, stub in {
            "CUDAGraph": lambda: SimpleNamespace(replay=self.step),
            "graph": self.record,
            "current_stream": lambda: self.stream,
            "set_stream": lambda stream: setattr(self, "stream", stream),
            "get_sync_debug_mode": lambda: self.mode,
            "set_sync_debug_mode": lambda mode: setattr(self, "mode", mode),
        }.items():
            monkeypatch.setattr(torch.cuda, name, stub)

    @contextmanager
    def record(self, graph):
        self.stream = "recording"
        self.recorded += 1
        yield
        if self.error:
            raise self.error
        self.stream = "own"

    def step(self) -> torch.Tensor:
        self.state += 1
        return 10 * self.state


@pytest.fixture
def device(monkeypatch):
    return Device(monkeypatch)


def run(model, device) -> None:
    """Whatever is recorded, the state is that of so many steps."""
    graphs = StepGraphs(model)
    device.state.zero_()
    for number, shape in enumerate(["wide"] * 9 + ["narrow"] * OFTEN + ["wide"] * 2, start=1):
        graphs.run(shape, device.step, device.state)
        assert device.state.tolist() == [number, number]
        assert (device.stream, device.mode) == ("own", 0)


def test_a_frequent_shape_is_recorded_once(device):
    model = SimpleNamespace(records_steps=True)
    run(model, device)
    assert device.recorded == 1
    assert model.records_steps


def test_steps_run_where_recording_fails(device, capsys):
    model = SimpleNamespace(records_steps=True)
    device.error = torch.AcceleratorError("no stream")
    run(model, device)
    run(model, device)
    assert device.recorded == 1
    assert capsys.readouterr().out.count("are not recorded as CUDA graphs: no stream") == 1
