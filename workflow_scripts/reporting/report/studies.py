"""All studies of the report, in the order in which it tells them, and their numbers together."""

from typing import Any

from workflow_scripts.reporting.report.chunking import CHUNKING
from workflow_scripts.reporting.report.cost import COST
from workflow_scripts.reporting.report.harmony import HARMONY
from workflow_scripts.reporting.report.numbers import Numbers
from workflow_scripts.reporting.report.prompts import PROMPTS
from workflow_scripts.reporting.report.published import PUBLISHED
from workflow_scripts.reporting.report.run import run_numbers
from workflow_scripts.reporting.report.study import Tables
from workflow_scripts.reporting.report.suite import SUITE
from workflow_scripts.reporting.report.words import limits

STUDIES = (HARMONY, CHUNKING, PROMPTS, SUITE, PUBLISHED, COST)


def all_numbers(tables: Tables, provenance: dict[str, Any]) -> Numbers:
    """Every number that prose may use, from the tables at hand."""
    numbers = [*limits(), *run_numbers(provenance)]
    for study in STUDIES:
        numbers += study.numbers(tables)
    return Numbers(numbers)
