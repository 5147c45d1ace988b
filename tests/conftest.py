"""Define the fixtures and skips of all tests; in CI only tests that need GPUs or real weights may be skipped."""

import os
import shutil
import tempfile

import pytest

from tests.made_once import make_once
from tests.workflow.grid import make_grid

# Set before PyTorch is imported: with tiny models in parallel processes, several threads per process take ten
# times as long. Jobs of a test use the threads of their config.
os.environ.setdefault("OMP_NUM_THREADS", "1")
NO_SKIPS = bool(os.environ.get("CHORUS_NO_SKIPS"))
NOT_IN_CI = ("gpus", "real")
WHOLE_RUNS = {"finished", "finished_grid"}  # fixtures that run the pipeline for minutes
# For each marker: the program that the test runs, and its Debian package.
PROGRAMS = {
    "chromium": ("chromedriver", "chromium-driver"),
    "tex": ("pdflatex", "texlive-latex-recommended"),
}


def pytest_addoption(parser):
    parser.addoption(
        "--real-hub",
        help="hub folder with SmolLM2-135M-Instruct and its data, which config/first.yaml fetches",
    )


@pytest.fixture(scope="session", autouse=True)
def temporary_folder():
    """Set a temporary folder for child processes, which is removed with the files of killed processes."""
    tempfile.gettempdir()  # cache the default folder, which pytest itself keeps using
    folder = tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True)
    with folder as path, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", path)
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Change to an empty working directory, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def finished_grid(tmp_path_factory):
    """Return a folder with the results of the small grid, from a local run without injected faults."""
    folder, _ = make_once(tmp_path_factory, "grid", make_grid)
    return folder


def _count_gpus() -> int:
    import torch

    return torch.cuda.device_count()


def pytest_collection_modifyitems(config, items):
    for item in items:
        if WHOLE_RUNS.intersection(item.fixturenames):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("real") and not config.getoption("real_hub"):
            reason = "needs real weights and data; docs/first_run.md says how to get them"
            item.add_marker(pytest.mark.skip(reason=reason))
        if (marker := item.get_closest_marker("gpus")) and _count_gpus() < marker.args[0]:
            reason = f"needs {marker.args[0]} GPUs, and PyTorch sees {_count_gpus()}"
            item.add_marker(pytest.mark.skip(reason=reason))
        for marker, (program, package) in PROGRAMS.items():
            if item.get_closest_marker(marker) and not shutil.which(program) and not NO_SKIPS:
                reason = f"needs the program {program} (install the package {package})"
                item.add_marker(pytest.mark.skip(reason=reason))
    # Long tests come first, so that no process is left with one at the end.
    items.sort(key=lambda item: not {"slow", "slurm"} & {mark.name for mark in item.iter_markers()})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    is_excused = hasattr(report, "wasxfail") or any(map(item.get_closest_marker, NOT_IN_CI))
    if NO_SKIPS and report.skipped and not is_excused:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CHORUS_NO_SKIPS is set."
    return report
