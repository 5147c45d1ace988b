"""Shared by all tests: what needs a system package says so, and in CI nothing is skipped
but what needs GPUs."""

import os
import shutil

import pytest

from tests.made_once import made_once
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
    folder, _ = made_once(tmp_path_factory, "grid", make_grid)
    return folder


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()


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
