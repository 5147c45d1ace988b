"""Test that the golden config gives the reference numbers, or those of the base commit."""

import pytest

from tests.golden import run

pytestmark = pytest.mark.workflow


def check(part, before, after, moved):
    differences = run.compare_part(part, before, after)
    unintended = [
        str(difference) for difference in differences if not difference.is_intended(moved)
    ]
    assert not unintended, "\n".join(unintended)


def test_published_tables(tmp_path):
    run.run_workflow(run.ROOT, "published", tmp_path / "after")
    check("published", run.find_reference_folder("published"), tmp_path / "after", moved={})


@pytest.mark.slow
def test_measured_tables(tmp_path):
    before, moved = run.find_reference_folder("measured"), {}
    if not before.is_dir():
        before, moved = tmp_path / "before", run.MOVED
        run.run_commit(run.read_base(), "measured", before)
    run.run_workflow(run.ROOT, "measured", tmp_path / "after")
    check("measured", before, tmp_path / "after", moved)
