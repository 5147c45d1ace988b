"""How long an interrupted run takes to end, by a clock of the test's own."""

import signal
from types import SimpleNamespace

import pytest

from workflow_scripts.bridge import interruption


class Ended(BaseException):
    pass


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def run(monkeypatch):
    """A run with one job that does not end when it is told to, and a Snakemake that waits for something."""
    clock = Clock()
    happened: dict[str, list[float]] = {"told": [], "killed": [], "unlocked": []}

    def notes(what):
        return lambda: happened[what].append(clock.now - Clock.now)

    class Job:
        def name(self) -> str:
            return "python"

        terminate, kill = map(staticmethod, (notes("told"), notes("killed")))

    job = Job()
    own = SimpleNamespace(children=lambda recursive: [job])

    def leave(code):
        raise Ended(code)

    monkeypatch.setattr(interruption, "time", clock)
    monkeypatch.setattr(interruption.psutil, "Process", lambda: own)
    monkeypatch.setattr(interruption.os, "_exit", leave)
    for name in ("show_no_more_errors", "close_terminal", "say"):
        monkeypatch.setattr(interruption, name, lambda *_: None)
    monkeypatch.setattr(interruption, "submits_to_slurm", lambda workflow: False)
    persistence = SimpleNamespace(unlock=notes("unlocked"))

    def interrupt():
        with pytest.raises(Ended):
            interruption._end_all(SimpleNamespace(persistence=persistence), signal.SIGINT)
        return happened, clock.now - Clock.now

    return interrupt


def test_a_job_has_five_seconds_to_save_and_the_run_ends_within_ten(run):
    happened, ended = run()
    assert happened["told"] == [0.0], "once, and at once"
    assert 5.0 <= happened["killed"][0] <= 5.5
    assert happened["unlocked"][0] <= ended <= 10.0
