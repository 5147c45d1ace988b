"""A token planted in the environment is nowhere afterwards, and in no argument list meanwhile."""

import pytest

from tests.workflow.grid import TOKENS, list_token_files

pytestmark = pytest.mark.workflow


def test_no_file_holds_a_token(finished_grid):
    """Models, datasets, records, tables, logs, and what Snakemake keeps for itself."""
    assert len(TOKENS) >= 4
    assert not list_token_files(finished_grid)


def test_no_argument_list_holds_a_token(finished_grid):
    """Anybody on the machine can read those; make_grid looked at all of them, again and again."""
    arguments = (finished_grid / "argument_lists.txt").read_text()
    assert "snakemake" in arguments and ".snakemake/scripts/" in arguments, "it looked"
    assert not any(token in arguments for token in TOKENS.values())
