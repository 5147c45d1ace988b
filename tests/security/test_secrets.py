"""Test that tokens of the environment reach no file and no process's command line."""

import pytest

from tests.workflow.grid import TOKENS, list_token_files

pytestmark = pytest.mark.workflow


def test_no_file_holds_a_token(finished_grid):
    """Checked files are models, datasets, records, tables, logs and Snakemake's metadata."""
    assert len(TOKENS) >= 4
    assert not list_token_files(finished_grid)


def test_no_argument_list_holds_a_token(finished_grid):
    """Every user of the machine can read command lines; make_grid polled them during the run."""
    arguments = (finished_grid / "argument_lists.txt").read_text()
    assert "snakemake" in arguments and ".snakemake/scripts/" in arguments, "it looked"
    assert not any(token in arguments for token in TOKENS.values())
