"""Check that the benchmark of the ranking study writes all its tables."""

import pytest

from bench.ranking import TABLES
from tests.processes import python


@pytest.mark.slow
def test_benchmark_tables():
    output = python("from bench.ranking import main; main()", "--models", 5)
    assert output.count("| `results/") == len(["grid", *TABLES])
