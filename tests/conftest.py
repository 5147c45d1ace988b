"""Shared by all tests: what needs a system package says so, and in CI nothing is skipped
but what needs GPUs."""

import os
import shutil

import pytest

from tests.workflow.grid import make_grid

NO_SKIPS = bool(os.environ.get("CHORUS_NO_SKIPS"))
# By marker: the program that the test runs, and Debian's package that has it.
PROGRAMS = {
    "graphviz": ("dot", "graphviz"),
    "chromium": ("chromedriver", "chromium-driver"),
    "tex": ("pdflatex", "texlive-latex-recommended"),
}


@pytest.fixture(scope="session")
def finished_grid(tmp_path_factory):
    """A folder in which the small grid was made, on this machine and without misfortune."""
    return make_grid(tmp_path_factory.mktemp("grid"))


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()


def pytest_itemcollected(item):
    """With several workers a file's tests stay in one, and so do all that look at the same finished run.

    Making that again would take longer than the second worker saves. Said here, since xdist reads the
    groups before a conftest's `pytest_collection_modifyitems` is called.
    """
    shared = [name for name in ("finished", "finished_grid") if name in item.fixturenames]
    item.add_marker(pytest.mark.xdist_group(shared[0] if shared else str(item.path)))


def pytest_collection_modifyitems(items):
    for item in items:
        if (marker := item.get_closest_marker("gpus")) and _gpus() < marker.args[0]:
            reason = f"needs {marker.args[0]} GPUs, and PyTorch sees {_gpus()}"
            item.add_marker(pytest.mark.skip(reason=reason))
        for marker, (program, package) in PROGRAMS.items():
            if item.get_closest_marker(marker) and not shutil.which(program) and not NO_SKIPS:
                reason = f"needs the program {program} (install the package {package})"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    by_choice = not hasattr(report, "wasxfail") and not item.get_closest_marker("gpus")
    if NO_SKIPS and report.skipped and by_choice:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CHORUS_NO_SKIPS is set."
    return report
