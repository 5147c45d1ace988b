"""Shared by all tests: what needs a system package says so, and in CI nothing is skipped."""

import os
import shutil

import pytest

NO_SKIPS = bool(os.environ.get("CHORUS_NO_SKIPS"))
PROGRAMS = {"graphviz": "dot"}


def pytest_collection_modifyitems(items):
    for item in items:
        for marker, program in PROGRAMS.items():
            if item.get_closest_marker(marker) and not shutil.which(program) and not NO_SKIPS:
                reason = f"needs the program {program} (install the package {marker})"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CHORUS_NO_SKIPS is set."
    return report
